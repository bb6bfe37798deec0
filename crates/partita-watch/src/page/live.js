"use strict";
// Asks for the metrics each second, and draws the last ten minutes of them.
//
//   parse     text -> samples by name            sumUp    samples -> the sums that charts and tiles show, which are kept
//   linesOf   chart -> lines of values           show     lines -> SVG
//
// Of a chart, `names` are added up over all labels but `by`, whose values are its lines; `rate` is what came in a second.
const EVERY_MS = 1000, KEPT_MS = 600000, COLOURS = 8, LEFT = 62, RIGHT = 6, TOP = 8, BOTTOM = 18;
const CHARTS = [
  { title: "Operations", about: "per second, as the program times them", unit: "count", by: "operation", names: ["partita_operation_seconds_count"], rate: true },
  { title: "Time of operations", about: "what half of them, and 99 of 100, took at most", unit: "seconds", quantiles: "partita_operation_seconds_bucket" },
  { title: "Changes written", about: "per second", unit: "count", lines: [["changes", "partita_write_keys_total"], ["batches", "partita_write_batches_total"], ["sequence numbers", "partita_last_sequence_number"]], rate: true },
  { title: "Reads of typed tables", about: "per second, by outcome", unit: "count", by: "outcome", names: ["partita_store_reads_total"], rate: true },
  { title: "Cache lookups", about: "per second, by role", unit: "count", by: "role", names: ["partita_cache_hits_total", "partita_cache_misses_total"], rate: true },
  { title: "Hits", about: "share of lookups that found their object, by role", unit: "percent", by: "role", ratio: ["partita_cache_hits_total", "partita_cache_misses_total"] },
  { title: "Memory against the budget", about: "charged bytes by role, stacked; the dashed line is the budget", unit: "bytes", by: "role", names: ["partita_cache_bytes"], stacked: true, limit: "partita_cache_budget_bytes" },
  { title: "Resident memory", about: "of the process", unit: "bytes", lines: [["resident", "process_resident_memory_bytes"]] },
  { title: "Compaction debt", about: "bytes to write until the levels have their sizes", unit: "bytes", by: "family", names: ["partita_pending_compaction_bytes"] },
  { title: "Stalls", about: "share of time that writers waited, by cause", unit: "percent", by: "cause", names: ["partita_stall_seconds_total"], rate: true },
  { title: "Flushes and compactions", about: "bytes per second", unit: "bytes", lines: [["written", "partita_table_written_bytes_total"], ["read", "partita_compaction_read_bytes_total"]], rate: true },
  { title: "Tables", about: "bytes by level, stacked", unit: "bytes", by: "level", each: "level ", names: ["partita_level_bytes"], stacked: true },
  { title: "Memtables", about: "bytes by state, stacked", unit: "bytes", by: "state", names: ["partita_memtable_bytes"], stacked: true },
];
const TILES = [
  ["Changes a second", m => m.most("partita_write_keys_total", "partita_last_sequence_number"), "count"],
  ["Hits", m => m.hits(), "percent"],
  ["Charged", m => m.sum("partita_cache_usage_bytes"), "bytes"],
  ["Budget", m => m.sum("partita_cache_budget_bytes"), "bytes"],
  ["Resident", m => m.sum("process_resident_memory_bytes"), "bytes"],
  ["Compaction debt", m => m.sum("partita_pending_compaction_bytes"), "bytes"],
  ["Writers waited", m => m.sum("partita_stall_seconds_total"), "seconds"],
  ["Tables", m => m.sum("partita_level_bytes"), "bytes"],
];

const HITS = ["partita_cache_hits_total", "partita_cache_misses_total"];

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;
function parse(text) {
  const found = new Map();
  for (const line of text.split("\n")) {
    const sample = line[0] === "#" ? null : SAMPLE.exec(line);
    if (!sample) continue;
    const labels = {};
    for (const [, name, value] of (sample[2] || "").matchAll(LABEL))
      labels[name] = value.replace(/\\(.)/g, (_, c) => c === "n" ? "\n" : c);
    if (!found.has(sample[1])) found.set(sample[1], []);
    found.get(sample[1]).push({ labels, value: Number(sample[3]) });
  }
  return found;
}

// What was polled, the oldest first: { at, gap, and sums by name and label }. Behind a gap no rate is known. Only the sums that
// are shown are kept: a database may have thousands of samples.
let polled = [];
const KEPT_SUMS = new Map();
/** `by`: a label; or several, whose values are the key together. */
const keep = (name, by = "") => KEPT_SUMS.set(`${name} ${by}`, { name, by });

/** The sum of a metric's values, by a label or all together; null if it is not there. */
function sums(point, name, by = "") {
  return point.sums.get(`${name} ${by}`) || null;
}
function sumUp(found) {
  const all = new Map();
  for (const [kept, { name, by }] of KEPT_SUMS) {
    const samples = found.get(name);
    if (!samples) continue;
    const sum = new Map();
    for (const { labels, value } of samples) {
      const key = Array.isArray(by) ? by.map(label => labels[label]).join("\n") : by ? labels[by] : "";
      sum.set(key, (sum.get(key) || 0) + value);
    }
    all.set(kept, sum);
  }
  return all;
}
function sumAll(point, names, by) {
  let all = null;
  for (const name of names) {
    for (const [key, value] of sums(point, name, by) || []) {
      all = all || new Map();
      all.set(key, (all.get(key) || 0) + value);
    }
  }
  return all;
}
/** What came in a second between two points; null where a counter began anew. */
function perSecond(before, after, of, key) {
  const [a, b] = [of(before), of(after)];
  if (after.gap || !a || !b || !a.has(key) || !b.has(key) || b.get(key) < a.get(key)) return null;
  return (b.get(key) - a.get(key)) / ((after.at - before.at) / 1000);
}

const BUCKET = ["operation", "le"];
/** What a share of the operations between two points took at most, as far as buckets tell; null without any. */
function quantile(before, after, name, operation, share) {
  const [a, b] = [sums(before, name, BUCKET), sums(after, name, BUCKET)];
  if (after.gap || !a || !b) return null;
  const buckets = [];
  for (const [key, count] of b) {
    const [of, le] = key.split("\n");
    if (of === operation) buckets.push([le === "+Inf" ? Infinity : Number(le), count - (a.get(key) || 0)]);
  }
  buckets.sort((one, other) => one[0] - other[0]);
  const all = buckets.length ? buckets[buckets.length - 1][1] : 0;
  if (all <= 0) return null;
  let [low, below] = [0, 0];
  for (const [bound, count] of buckets) {
    if (count >= share * all) return bound === Infinity ? low : low + (bound - low) * (share * all - below) / (count - below || 1);
    [low, below] = [bound, count];
  }
  return null;
}
function quantileLines(name) {
  const operations = new Set();
  for (const point of polled) for (const key of (sums(point, name, BUCKET) || new Map()).keys()) operations.add(key.split("\n")[0]);
  const values = (operation, share) => polled.map((point, at) => at ? quantile(polled[at - 1], point, name, operation, share) : null);
  return [...operations].flatMap(operation => [[`${operation}, half`, values(operation, .5)], [`${operation}, 99 of 100`, values(operation, .99)]]);
}

/** The lines of a chart: [[name, [value or null, of each point]]]. */
function linesOf(chart) {
  if (chart.quantiles) return quantileLines(chart.quantiles);
  if (chart.lines) return chart.lines.map(([title, name]) => [title, valuesOf(chart, point => sums(point, name), "")]);
  const keys = new Set();
  const of = point => sumAll(point, chart.ratio || chart.names, chart.by);
  for (const point of polled) for (const key of (of(point) || new Map()).keys()) keys.add(key);
  let lines = [...keys].map(key => [key, chart.ratio ? ratios(chart, key) : valuesOf(chart, of, key)]);
  lines = lines.filter(([, values]) => values.some(value => value > 0));
  if (lines.length <= COLOURS) return lines;
  // More than can be told apart: the largest, and the rest together.
  const most = values => Math.max(...values.map(value => value || 0));
  lines.sort((a, b) => most(b[1]) - most(a[1]));
  const rest = lines.splice(COLOURS - 1);
  const together = polled.map((_, at) => rest.reduce((sum, [, values]) => values[at] === null ? sum : (sum || 0) + values[at], null));
  return [...lines, [`${rest.length} others`, together]];
}
function valuesOf(chart, of, key) {
  return polled.map((point, at) => {
    if (chart.rate) return at ? perSecond(polled[at - 1], point, of, key) : null;
    const sum = of(point);
    return sum && sum.has(key) ? sum.get(key) : null;
  });
}
function ratios(chart, key) {
  const [hits, misses] = chart.ratio;
  return polled.map((point, at) => {
    if (!at) return null;
    const [hit, miss] = [hits, misses].map(name => perSecond(polled[at - 1], point, p => sums(p, name, chart.by), key));
    return hit === null || miss === null || hit + miss === 0 ? null : hit / (hit + miss);
  });
}

function human(value, unit) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const short = (number, digits) => Number(number.toPrecision(digits)).toLocaleString("en", { maximumSignificantDigits: digits });
  if (unit === "percent") return (value * 100).toFixed(value > 0 && value < .1 ? 2 : 1) + " %";
  if (unit === "seconds") return value === 0 || value >= 1 ? short(value, 3) + " s" : value >= 1e-3 ? short(value * 1e3, 3) + " ms" : short(value * 1e6, 3) + " µs";
  const [step, names] = unit === "bytes" ? [1024, [" B", " KiB", " MiB", " GiB", " TiB"]] : [1000, ["", "k", "M", "G", "T"]];
  let at = 0;
  while (value >= step && at < names.length - 1) { value /= step; at++; }
  return short(value, 3) + names[at];
}

/** The end of an axis at or above a value: 1, 2 or 5 of something. */
function above(most, unit) {
  if (unit === "percent" && most > .5) return 1;
  if (!(most > 0)) return unit === "percent" ? .01 : 1;
  const base = unit === "bytes" ? 1024 ** Math.floor(Math.log(most) / Math.log(1024)) : 1;
  const power = 10 ** Math.floor(Math.log10(most / base));
  return base * power * [1, 2, 5, 10].find(step => most / base <= step * power * 1.0000001);
}

const SVG = "http://www.w3.org/2000/svg";
function draw(parent, name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}
function element(parent, name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

/** An SVG path through the points that have a value. */
function path(values, x, y) {
  let d = "", open = false;
  values.forEach((value, at) => {
    if (value === null) { open = false; return; }
    d += `${open ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
    open = true;
  });
  return d;
}
/** Areas between two lines; where one has no value it is as if it had nothing. */
function area(low, high, x, y) {
  const there = high.map((_, at) => at);
  const edge = (values, order) => order.map(at => `${x(at).toFixed(1)} ${y(values[at]).toFixed(1)}`).join("L");
  return there.length ? `M${edge(high, there)}L${edge(low, there.slice().reverse())}Z` : "";
}

/** Draws a chart; without anything to see it is not there. */
function show(chart) {
  const lines = linesOf(chart), { section, svg, legend } = chart.shown;
  section.hidden = !lines.some(([, values]) => values.some(value => value > 0));
  if (section.hidden) return;
  svg.replaceChildren(); legend.replaceChildren();
  // In the pixels that there are, so that letters have their size on a phone, too.
  const [width, height] = [svg.clientWidth, svg.clientHeight];
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const stacks = [];
  if (chart.stacked) {
    let low = polled.map(() => 0);
    for (const [title, values] of lines) {
      const high = low.map((value, at) => value + (values[at] || 0));
      stacks.push([title, low, high]);
      low = high;
    }
  }
  const limit = chart.limit ? polled.map(point => { const sum = sums(point, chart.limit); return sum && sum.get(""); }) : [];
  const seen = chart.stacked ? stacks.flatMap(([, , high]) => high) : lines.flatMap(([, values]) => values);
  const top = above(Math.max(0, ...seen.map(value => value || 0), ...limit.map(value => value || 0)), chart.unit);
  const end = polled.length ? polled[polled.length - 1].at : 0;
  const span = Math.min(KEPT_MS, Math.max(60000, polled.length ? end - polled[0].at : 0));
  const x = at => LEFT + (width - LEFT - RIGHT) * (1 - (end - polled[at].at) / span);
  const y = value => TOP + (height - TOP - BOTTOM) * (1 - value / top);
  for (const share of [0, .5, 1]) {
    const at = y(top * share);
    draw(svg, "line", { class: share ? "grid" : "base", x1: LEFT, x2: width - RIGHT, y1: at, y2: at });
    draw(svg, "text", { x: LEFT - 6, y: at + 4, "text-anchor": "end" }, human(top * share, chart.unit));
  }
  draw(svg, "text", { x: LEFT, y: height - 2 }, span < 120000 ? `${Math.round(span / 1000)} s ago` : `${Math.round(span / 60000)} min ago`);
  draw(svg, "text", { x: width - RIGHT, y: height - 2, "text-anchor": "end" }, "now");
  lines.forEach(([title, values], number) => {
    const colour = `--c: var(--c${number % COLOURS})`;
    const d = chart.stacked ? area(stacks[number][1], stacks[number][2], x, y) : path(values, x, y);
    draw(svg, "path", { class: chart.stacked ? "area" : "line", d }).style.cssText = colour;
    const item = element(legend, "li");
    element(item, "i").style.cssText = colour;
    element(item, "span", "", (chart.each || "") + (chart.by === "outcome" ? title.replaceAll("_", " ") : title));
    element(item, "b", "", human(values[values.length - 1], chart.unit));
  });
  if (chart.limit) draw(svg, "path", { class: "line limit", d: path(limit.map(value => value ?? null), x, y) }).style.cssText = "--c: var(--problem)";
  svg.setAttribute("aria-label", `${chart.title}: ${lines.map(([title, values]) => `${title} ${human(values[values.length - 1], chart.unit)}`).join(", ")}`);
}

const MEANING = {
  sum: name => { const sum = polled.length && sums(polled[polled.length - 1], name); return sum ? sum.get("") : null; },
  rate: name => polled.length < 2 ? null : perSecond(polled[polled.length - 2], polled[polled.length - 1], point => sums(point, name), ""),
  most: (...names) => {
    const known = names.map(MEANING.rate).filter(rate => rate !== null);
    return known.length ? Math.max(...known) : null;
  },
  hits: () => {
    const [hit, miss] = HITS.map(MEANING.rate);
    return hit === null || miss === null || hit + miss === 0 ? null : hit / (hit + miss);
  },
};

function tell(text, isWell) {
  const state = document.getElementById("state");
  if (state.textContent !== text) state.textContent = text;
  state.className = isWell ? "good" : "problem";
}

let gap = false;
async function poll() {
  try {
    const answer = await fetch("metrics", { cache: "no-store", signal: AbortSignal.timeout(5000) });
    if (!answer.ok) throw new Error(`the server says ${answer.status}`);
    const found = parse(await answer.text());
    const at = performance.now();
    polled.push({ at, gap, sums: sumUp(found) });
    polled = polled.filter(point => at - point.at <= KEPT_MS);
    gap = false;
    const is = name => (found.get(name) || [{ value: 0 }])[0].value > 0;
    if (!is("partita_healthy")) tell("Something is wrong: see /health.", false);
    else if (!is("partita_databases")) tell("No database is open at the moment.", true);
    else tell("All is well.", true);
  } catch (error) {
    gap = true;
    tell(`No figures: ${error.message}. Trying again.`, false);
  }
  if (!document.hidden) render();
  document.documentElement.dataset.polls = polled.length;
}
function render() {
  CHARTS.forEach(show);
  const empty = CHARTS.filter(chart => chart.shown.section.hidden).map(chart => chart.title.toLowerCase());
  const quiet = document.getElementById("quiet");
  quiet.hidden = !empty.length;
  quiet.textContent = `Nothing to see so far: ${empty.join(", ")}.`;
  const tiles = document.getElementById("tiles");
  TILES.forEach(([, of, unit], at) => { tiles.children[at].lastChild.textContent = human(of(MEANING), unit); });
}
for (const chart of CHARTS) {
  for (const name of chart.names || chart.ratio || []) keep(name, chart.by);
  for (const [, name] of chart.lines || []) keep(name);
  if (chart.limit) keep(chart.limit);
  if (chart.quantiles) keep(chart.quantiles, BUCKET);
}
for (const [title, of] of TILES) {
  // Whatever a tile asks for is kept.
  of({ sum: keep, most: (...names) => names.forEach(name => keep(name)), hits: () => HITS.forEach(name => keep(name)) });
  const tile = element(document.getElementById("tiles"), "div");
  element(tile, "dt", "", title);
  element(tile, "dd", "", "–");
}
for (const chart of CHARTS) {
  const section = element(document.getElementById("charts"), "section");
  element(section, "h2", "", chart.title);
  element(section, "p", "", chart.about);
  const svg = draw(section, "svg", { role: "img" });
  section.hidden = true;
  chart.shown = { section, svg, legend: element(section, "ul", "legend") };
}
addEventListener("resize", render);
document.addEventListener("visibilitychange", () => { if (!document.hidden) render(); });
(async () => {
  for (;;) {
    await poll();
    await new Promise(done => setTimeout(done, EVERY_MS));
  }
})();
