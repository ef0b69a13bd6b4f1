# SPDX-License-Identifier: Apache-2.0
"""What Onyx tells about a session: its plan and its times, as tables for terminals and notebooks."""

import collections
import html

PlanRow = collections.namedtuple(
    "PlanRow", "graph name op domain version provider how merged refused_by refused_why")
PlanRow.__doc__ = """Where a node runs. graph: "" or the path of a body. how: "kernel", "program", "view", "control", "copy",
"refused". merged: nodes of the model that it does the work of. refused_by, refused_why: providers that declined."""

NodeTime = collections.namedtuple("NodeTime", "name op provider start_us duration_us output_bytes flops form")
NodeTime.__doc__ = "A run of a node. form: how it was computed, in a few words; None: its provider does not say."


class _Table:
    """Rows with columns, which show themselves."""

    def _columns(self):
        """(names, rows of texts, lines below)"""
        raise NotImplementedError

    def __repr__(self):
        names, rows, notes = self._columns()
        widths = [max(len(row[i]) for row in [names, *rows]) for i in range(len(names))]
        lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip() for row in [names, *rows]]
        return "\n".join(lines + notes)

    def _repr_html_(self):
        names, rows, notes = self._columns()
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>" for row in rows)
        foot = "".join(f"<div>{html.escape(note)}</div>" for note in notes)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{foot}"


class Plan(_Table):
    """Where every node runs, what was optimized, what memory the model takes. Iterates over PlanRows.

    parameters, parameter_bytes, nodes: of the optimized model. applied: {rule: how often}. workspace_bytes: of a run
    with the shapes that were given, beside inputs and outputs; None: none were given."""

    def __init__(self, session, shapes=None):
        self.rows = [PlanRow(*row) for row in session._placement()]
        self.parameters, self.parameter_bytes, self.nodes = session._size()
        self.applied = session._applied()
        self.workspace_bytes = None
        if shapes is not None:
            names = [port.name for port in session.get_inputs()]
            missing = [name for name in names if name not in shapes]
            if missing:
                raise ValueError(f"plan: no shape for inputs {missing}")
            self.workspace_bytes = session._workspace([list(shapes[name]) for name in names])

    def __iter__(self):
        return iter(self.rows)

    def __len__(self):
        return len(self.rows)

    def providers(self):
        """{provider: number of nodes}"""
        return dict(collections.Counter(row.provider for row in self.rows))

    def _columns(self):
        rows = []
        for row in self.rows:
            why = "; ".join(f"{by}: {reason}" for by, reason in zip(row.refused_by, row.refused_why))
            merged = ", ".join(row.merged)
            rows.append([row.graph, row.name, row.op, row.provider, row.how, merged, why])
        notes = [f"{self.nodes} nodes, {self.parameters} parameters in {self.parameter_bytes} bytes"]
        if self.workspace_bytes is not None:
            notes.append(f"workspace of a run: {self.workspace_bytes} bytes")
        return ["graph", "node", "operator", "provider", "how", "does the work of", "refused"], rows, notes


class Profile(_Table):
    """Times of nodes, collected while it is used as a context manager. Iterates over NodeTimes; shows one row a node,
    the slowest first."""

    def __init__(self, session):
        self._session = session
        self.events = []

    def __enter__(self):
        self._session._profile_switch(True)
        return self

    def __exit__(self, *exception):
        self._session._profile_switch(False)
        self.events = [NodeTime(*row) for row in self._session._profile_events()]

    def __iter__(self):
        return iter(self.events)

    def __len__(self):
        return len(self.events)

    def total_us(self):
        """Microseconds of all nodes."""
        return sum(event.duration_us for event in self.events)

    def by_node(self):
        """[(name, op, provider, calls, microseconds)], the slowest first."""
        sums = collections.OrderedDict()
        for event in self.events:
            key = event.name, event.op, event.provider
            calls, time = sums.get(key, (0, 0.0))
            sums[key] = calls + 1, time + event.duration_us
        return sorted(((*key, *value) for key, value in sums.items()), key=lambda row: -row[4])

    def _columns(self):
        total = self.total_us() or 1.0
        rows = [[name, op, provider, str(calls), f"{time:.1f}", f"{100 * time / total:.1f}"]
                for name, op, provider, calls, time in self.by_node()]
        return ["node", "operator", "provider", "calls", "us", "%"], rows, [f"{self.total_us():.1f} us in all"]
