"""Training by self-play: config says what, collect and league play, ppo learns, trainer runs it all, report
tells.

Only ppo, checkpoint and trainer need torch and Stable-Baselines3.
"""
