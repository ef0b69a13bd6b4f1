# SPDX-License-Identifier: Apache-2.0
"""Bars as SVG. One set of mid tones reads on white and on black, since a page's picture does not know the page."""
from xml.sax.saxutils import escape

TEXT = "#7a8594"
COLOURS = ["#3b82c4", "#d9822b", "#4aa564", "#a66bbe", "#b8a02e", "#c4574f"]
WIDTH, LABEL, VALUE, BAR, GAP, TOP = 860, 210, 60, 12, 10, 58


def text(x, y, string, size=13, anchor="start", extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{TEXT}"{extra}>' \
           f'{escape(string)}</text>'


def wrap(string, width):
    lines, line = [], ""
    for word in string.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = ""
        line = f"{line} {word}".strip()
    return lines + [line] if line else lines


def ticks(most):
    step = next(s for s in (0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000) if most / s <= 8)
    return [i * step for i in range(int(most / step) + 1)]


def grid(most, x_of, bottom):
    parts = []
    for t in sorted(set(ticks(most)) | {1.0}):
        one = t == 1.0
        parts.append(f'<line x1="{x_of(t):.1f}" y1="{TOP - 6}" x2="{x_of(t):.1f}" y2="{bottom:.1f}" '
                     f'stroke="{TEXT}" stroke-opacity="{1 if one else 0.35}" stroke-width="{1.5 if one else 1}"/>')
        parts.append(text(x_of(t), TOP - 12, f"{t:g}", 11, "middle", ' font-weight="bold"' if one else ""))
    return parts


def legend(groups):
    parts, x = [], float(LABEL)
    for group, colour in zip(groups, COLOURS):
        parts.append(f'<rect x="{x:.1f}" y="20" width="{BAR}" height="{BAR}" rx="2" fill="{colour}"/>')
        parts.append(text(x + BAR + 5, 30, group, 12))
        x += BAR + 25 + 7.5 * len(group)
    return parts


def bars(title, groups, rows, caption):
    """|rows|: [(label, {group: ratio})]; the line at 1 is where both are equal. Returns the SVG document."""
    most = max([1.2] + [v for _, values in rows for v in values.values()]) * 1.02
    x_of = lambda ratio: LABEL + (WIDTH - LABEL - VALUE) * ratio / most
    height_of = lambda values: (BAR + 2) * max(1, len(values)) + GAP
    bottom = TOP + sum(height_of(values) for _, values in rows)
    notes = wrap(caption, 135)
    height = bottom + 14 + 15 * len(notes) + 4
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" '
             f'viewBox="0 0 {WIDTH} {height:.0f}" font-family="system-ui, sans-serif" role="img">',
             f"<title>{escape(title)}</title>", f"<desc>{escape(caption)}</desc>", text(0, 14, title, 13),
             *legend(groups), *grid(most, x_of, bottom)]
    y = TOP
    for label, values in rows:
        tall = height_of(values)
        parts.append(text(LABEL - 8, y + (tall - GAP) / 2 + 4, label, 12, "end"))
        for group, colour in zip(groups, COLOURS):
            if group not in values:
                continue
            end = x_of(values[group])
            parts.append(f'<rect x="{LABEL}" y="{y}" width="{end - LABEL:.1f}" height="{BAR}" rx="2" fill="{colour}"/>')
            parts.append(text(end + 5, y + BAR - 2, f"{values[group]:.2f}", 11))
            y += BAR + 2
        y += GAP if values else BAR + 2 + GAP
    parts += [text(0, bottom + 14 + 15 * i, line, 11) for i, line in enumerate(notes)]
    return "\n".join(parts + ["</svg>", ""])
