"""Motion: what moves a real without the code of the game: timers that are due, controllers, vehicles."""
