# SPDX-License-Identifier: Apache-2.0
"""State: outputs of a run that are inputs of the next one."""

import threading

from . import _onyx


class State(_onyx.State):
    """What a decoder carries from step to step (session.state()): the library keeps it between runs, so that a step
    neither copies it nor passes it through Python. A session can have any number of them, one for each sequence; each is
    for one thread at a time, and other threads wait.

        state = session.state()
        logits, = state.run(["logits"], {"input_ids": prompt})
        logits, = state.run(["logits"], {"input_ids": token})
    """

    def __init__(self, session, pairs=None):
        self._lock = threading.Lock()
        self._rest = [output.name for output in session.get_outputs() if output.name not in self._pairs()]

    def run(self, output_names, input_feed):
        """session.run() without the inputs of the pairs, whose outputs stay here and cannot be asked for; None: all
        others. An input of a pair that is given counts instead of what is here. In the first run they are zeros, empty
        where the model leaves one dimension open. A run that fails changes nothing."""
        with self._lock:
            return self._run(output_names or self._rest, input_feed)

    @property
    def pairs(self):
        """{output: input}"""
        return self._pairs()

    def get(self, name):
        """A copy of what the next run's input |name| will be. ValueError: nothing yet, or no such pair."""
        with self._lock:
            return self._get(name)

    def __len__(self):
        """The tokens that it has: the length of what the last run made longer."""
        with self._lock:
            return self._length()

    def reserve(self, length):
        """Keys and values that grow where they are get memory for |length| tokens at once, from the next time on that
        they need more."""
        with self._lock:
            self._reserve(length)

    def truncate(self, length):
        """Goes back to the first |length| tokens; 0: empty, for a new sequence. Pairs that the last run did not make
        longer stay as they are. ValueError: it has fewer."""
        with self._lock:
            self._truncate(length)
