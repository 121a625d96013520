"""Services: commands that are supervised in the background, and found again after the terminal is gone."""
