"""How tests wait: for what they mean, however long it takes. The deadline ends what hangs, and nothing else depends on it."""
import time

DEADLINE_S = 300
# For programs whose speed is not tested: threads that wait for each other also wait for whatever else the machine runs.
ONE_THREAD = ("--threads", "1")


def until(probe, what):
    """Asks `probe` again and again until it gives something true, which is returned."""
    end = time.monotonic() + DEADLINE_S
    while not (answer := probe()):
        if time.monotonic() > end:
            raise AssertionError(f"waited {DEADLINE_S} s in vain for: {what}")
        time.sleep(0.01)
    return answer
