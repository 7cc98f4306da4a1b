// Bars in SVG, with the numbers behind "Show data".

import { h, svg } from "../lib/dom.js";

/** @typedef {{ label: string, values: Array<{ value: number, kind?: string }>, tick?: string }} PlotBar */

/**
 * @param {{ title: string, bars: PlotBar[], unit: string, empty: string, header?: string }} given
 */
export function plot({ title, bars, unit, empty, header = "" }) {
  const totals = bars.map((bar) => bar.values.reduce((sum, { value }) => sum + value, 0));
  const most = Math.max(...totals, 0);
  if (!most) return h("div", { class: "plot" }, h("p", { class: "soft" }, empty));
  const [width, height, foot] = [360, 120, 16];
  const step = width / bars.length;
  const scale = (height - foot - 12) / most;
  const drawn = bars.flatMap((bar, at) => {
    let top = height - foot;
    return bar.values.map(({ value, kind }) => {
      const tall = value ? Math.max(value * scale, 1.5) : 0;
      top -= tall;
      return svg("rect", { class: kind ? `s-${kind}` : null, x: (at * step + Math.min(step * 0.12, 2)).toFixed(2), y: top.toFixed(2), width: Math.max(step - Math.min(step * 0.24, 4), 0.8).toFixed(2), height: tall.toFixed(2), rx: step > 6 ? 1.5 : 0 },
        svg("title", null, `${bar.label}: ${value.toLocaleString("en")} ${unit}${kind ? ` ${kind}` : ""}`));
    });
  });
  const ticks = bars.map((bar, at) => (bar.tick ? svg("text", { x: Math.min(Math.max(at * step + step / 2, 8), width - 10).toFixed(1), y: height - 3, "text-anchor": "middle" }, bar.tick) : null));
  const kinds = [...new Set(bars.flatMap((bar) => bar.values.map(({ kind }) => kind ?? "")))];
  return h("div", { class: "plot" },
    svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title}: at most ${most.toLocaleString("en")} ${unit}` },
      svg("line", { class: "axis", x1: 0, x2: width, y1: height - foot + 0.5, y2: height - foot + 0.5 }), ...drawn,
      svg("text", { x: width, y: 8, "text-anchor": "end" }, `${most.toLocaleString("en", { maximumFractionDigits: 1 })} ${unit}`), ...ticks),
    h("details", null, h("summary", null, "Show data"),
      h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": `${title}, data` }, h("table", null,
        h("thead", null, h("tr", null, h("th", { scope: "col" }, header || "What"), kinds.map((kind) => h("th", { scope: "col", class: "right" }, kind || unit)))),
        h("tbody", null, bars.filter((_, at) => (totals[at] ?? 0) > 0).map((bar) => h("tr", null, h("td", null, bar.label),
          kinds.map((kind) => h("td", { class: "right" }, (bar.values.find((one) => (one.kind ?? "") === kind)?.value ?? 0).toLocaleString("en"))))))))));
}
