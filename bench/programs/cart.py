class Cart:
    """A cart on a line, which an agent pushes left (0) or right (1) to keep it at 0. Its counterpart is cart.ts."""

    def reset(self, place):
        """Starts an episode at a place between -1 and 1."""
        self.place, self.speed = place, 0.0
        return [self.place, self.speed]

    def step(self, action):
        """Returns the next state and the reward."""
        self.speed = 0.8 * self.speed + 0.1 * (2 * action - 1)
        self.place += self.speed
        return [self.place, self.speed], -abs(self.place)
