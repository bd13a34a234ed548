"""Slow loops in float64, written from the equations alone; plain gradient descent underneath."""

import numpy as np


class Average:
    """A moving average that began at 0, corrected for it."""

    def __init__(self, decay):
        self.decay, self.sum, self.weight = decay, 0.0, 0.0

    def add(self, x):
        self.sum = self.decay * self.sum + (1 - self.decay) * x
        self.weight = self.decay * self.weight + (1 - self.decay)
        return self

    @property
    def value(self):
        return self.sum / self.weight if self.weight else 0.0


class Ewc:
    def __init__(self, strength, mean_decay, importance_decay):
        self.strength = strength
        self.mean, self.importance = Average(mean_decay), Average(importance_decay)

    def run(self, grads, start, rate, importance=None):
        w, found = np.asarray(start, np.float64), []
        for t, g in enumerate(np.asarray(grads, np.float64)):
            self.mean.add(w)
            self.importance.add(g**2 if importance is None else importance[t])
            pull = self.strength * self.importance.value * (w - self.mean.value)
            w = w - rate * (g + pull)
            found.append(w)
        return np.stack(found)


class Intelligence:
    def __init__(self, strength, mean_decay, importance_decay, damping):
        self.strength, self.damping, self.mean = strength, damping, Average(mean_decay)
        self.path, self.drift = Average(importance_decay), Average(importance_decay)

    def run(self, grads, start, rate):
        w, found = np.asarray(start, np.float64), []
        for g in np.asarray(grads, np.float64):
            self.mean.add(w)
            omega = np.maximum(self.path.value, 0) / (self.drift.value**2 + self.damping)
            step = -rate * (g + self.strength * omega * (w - self.mean.value))
            self.path.add(-g * step)
            self.drift.add(step)
            w = w + step
            found.append(w)
        return np.stack(found)


class TaskIntelligence:
    def __init__(self, strength, damping):
        self.strength, self.damping = strength, damping

    def run(self, grads, start, rate, boundary):
        w, found = np.asarray(start, np.float64), []
        anchor, omega, path = w.copy(), np.zeros_like(w), np.zeros_like(w)
        for g, new_task in zip(np.asarray(grads, np.float64), boundary, strict=True):
            if new_task:
                omega = omega + np.maximum(path, 0) / ((w - anchor) ** 2 + self.damping)
                anchor, path = w.copy(), np.zeros_like(w)
            step = -rate * (g + 2 * self.strength * omega * (w - anchor))
            path = path - g * step
            w = w + step
            found.append(w)
        return np.stack(found)
