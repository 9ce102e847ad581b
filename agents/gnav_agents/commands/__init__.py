"""The commands of `gnav`, a file each; cli.py puts them together."""
