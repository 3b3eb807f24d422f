"""Line charts as SVG, as few lines as that takes."""

COLOURS = ("#1f6fb4", "#d9730d", "#2a9d57", "#b3324b", "#7a4fb5", "#8a6d3b", "#3aa6a6", "#777777")
WIDTH, HEIGHT, LEFT, TOP, GAP = 460, 300, 56, 34, 40


def nice_steps(top):
    """Round numbers from 0 to just below `top`, about five of them."""
    step = 10.0 ** -9
    while top / step > 6.0:
        step *= 2.5 if f"{step:e}"[0] == "2" and f"{step:e}"[2] == "0" else 2.0
    count = int(top / step + 1e-9)
    return [i * step for i in range(count + 1)]


def panel(left, title, x_name, y_name, lines):
    """One set of axes; `lines`: [(name, [(x, y)])]."""
    points = [point for _, line in lines for point in line]
    low, high = min(x for x, _ in points), max(x for x, _ in points)
    top = max(1e-9, max(y for _, y in points)) * 1.05
    right, bottom = left + WIDTH - LEFT - 10, TOP + HEIGHT - 80

    def place(x, y):
        return (left + (x - low) / max(1e-9, high - low) * (right - left), bottom - y / top * (bottom - TOP))

    out = [f'<text x="{left}" y="{TOP - 14}" font-weight="bold">{title}</text>',
           f'<text x="{(left + right) / 2:.0f}" y="{bottom + 32}" text-anchor="middle">{x_name}</text>',
           f'<text x="{left - 44}" y="{TOP - 1}" font-size="10">{y_name}</text>']
    for y in nice_steps(top):
        _, v = place(low, y)
        out.append(f'<path d="M{left} {v:.1f}H{right}" stroke="#ddd"/><text x="{left - 5}" y="{v + 4:.1f}" '
                   f'text-anchor="end" font-size="10">{y:g}</text>')
    for i in range(6):
        x = low + (high - low) * i / 5
        h, _ = place(x, 0.0)
        out.append(f'<text x="{h:.1f}" y="{bottom + 15}" text-anchor="middle" font-size="10">{x:.4g}</text>')
    for i, (name, line) in enumerate(lines):
        colour = COLOURS[i % len(COLOURS)]
        way = "L".join("%.1f %.1f" % place(x, y) for x, y in line)
        out.append(f'<path d="M{way}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        h, v = left + (i % 4) * 100, bottom + 50 + (i // 4) * 15
        out.append(f'<path d="M{h} {v - 4}h14" stroke="{colour}" stroke-width="3"/><text x="{h + 18}" y="{v}">{name}</text>')
    return "\n".join(out)


def write(path, panels):
    """`panels`: [(title, name of x, name of y, lines)], side by side."""
    width = len(panels) * WIDTH + GAP
    body = "\n".join(panel(LEFT + i * WIDTH, *each) for i, each in enumerate(panels))
    path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT + 20}" font-family="sans-serif" '
                    f'font-size="12">\n<rect width="{width}" height="{HEIGHT + 20}" fill="white"/>\n{body}\n</svg>\n',
                    encoding="utf-8")
