#!/usr/bin/env python3
"""The results of run.py as an SVG chart: tokens/s of realizar and llama.cpp, and the machine's limit.

usage: chart.py RESULTS.json > chart.svg
"""
import json
import sys

WIDTH, LEFT, BAR, GAP = 720, 90, 9, 12
SERIES = (("ours", "#2563eb", "realizar"), ("peer", "#9ca3af", "llama.cpp"))


def panel(results, what, title, top):
    """One group of bars per model; the limit is a line across the group."""
    longest = max(row[what][who] for row in results.values() for who in ("ours", "peer", "limit"))
    scale = (WIDTH - LEFT - 70) / longest
    lines = [f'<text x="{LEFT}" y="{top - 10}" class="title">{title}</text>']
    y = top
    for name, row in results.items():
        short = name.rsplit("-", 1)[-1]
        lines.append(f'<text x="{LEFT - 8}" y="{y + BAR + 4}" text-anchor="end">{short}</text>')
        for i, (who, color, _) in enumerate(SERIES):
            value = row[what][who]
            lines.append(f'<rect x="{LEFT}" y="{y + i * BAR}" width="{value * scale:.1f}" height="{BAR - 1}" '
                         f'fill="{color}"/>')
            lines.append(f'<text x="{LEFT + value * scale + 4:.1f}" y="{y + i * BAR + 8}" class="value">'
                         f'{value:.0f}</text>')
        x = LEFT + row[what]["limit"] * scale
        lines.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y - 2}" y2="{y + 2 * BAR + 1}" stroke="#dc2626" '
                     'stroke-width="2"/>')
        y += 2 * BAR + GAP
    return lines, y


def legend(y):
    lines, x = [], LEFT
    for _, color, label in (*SERIES, ("limit", "#dc2626", "limit of the machine in the same run")):
        lines.append(f'<rect x="{x}" y="{y}" width="10" height="10" fill="{color}"/>')
        lines.append(f'<text x="{x + 14}" y="{y + 9}">{label}</text>')
        x += 110
    return lines


def main():
    with open(sys.argv[1]) as file:
        results = json.load(file)
    prefill, y = panel(results, "prefill", "Prefill of 512 tokens, tokens/s", 40)
    decode, y = panel(results, "decode", "Decode in its context, tokens/s", y + 30)
    style = ("text { font: 11px sans-serif; fill: #374151 } .title { font-weight: bold; font-size: 13px } "
             ".value { font-size: 9px }")
    body = "\n".join([*prefill, *decode, *legend(y + 6)])
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 24}"><style>{style}</style>'
          f'<rect width="100%" height="100%" fill="#ffffff"/>\n{body}\n</svg>')


main()
