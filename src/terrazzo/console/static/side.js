// What stands around the map: the tabs of the spaces, figures, the legend of shapes, the list of apps, refusals.

import { colourOf, element, pathOf, shortName } from "./common.js";

const find = (id) => document.getElementById(id);

/** Shows a snapshot; `choose(name)` is called when the user selects another space. */
export function showSide(snapshot, { space, shapeOf, choose }) {
  showTabs(snapshot, space, choose);
  showNotice(snapshot, space);
  showFigures(snapshot, space);
  showLegend(space, shapeOf);
  find("apps").replaceChildren(...snapshot.apps.map(appLine));
  showRefusals(snapshot.refusals ?? []);
}

/** What the doors have refused to clients, most first: how often, the reason in a sentence, and where. */
function showRefusals(refusals) {
  find("refusals").hidden = !refusals.length;
  find("refused").replaceChildren(...refusals.flatMap(({ app, door, count, sentence }) => [
    element("span", { className: "count", text: String(count) }),
    element("span", { text: `${sentence} (${shortName(app)}, ${door})` }),
  ]));
}

function showFigures(snapshot, space) {
  const count = (real) => space?.entities.filter((each) => each.real === real).length ?? 0;
  const figures = [["cells", space?.cells.length ?? 0], ["reals", count(true)], ["ghosts", count(false)]];
  figures.push(["players", snapshot.players]);
  find("figures").replaceChildren(
    ...figures.map(([name, value]) => element("span", {}, element("b", { text: String(value) }), ` ${name}`)),
  );
}

function showTabs(snapshot, space, choose) {
  const tabs = find("spaces");
  const names = snapshot.spaces.map((each) => each.name);
  if (tabs.dataset.names !== JSON.stringify(names)) {
    tabs.dataset.names = JSON.stringify(names);
    tabs.replaceChildren(...names.map((name) => {
      const button = element("button", { text: name });
      button.onclick = () => choose(name);
      return button;
    }));
  }
  for (const button of tabs.children) button.setAttribute("aria-pressed", String(button.textContent === space?.name));
}

function showNotice(snapshot, space) {
  const notice = find("notice");
  notice.hidden = Boolean(space?.cells.length);
  const isManagerUp = snapshot.apps.some((each) => each.kind === "cell_app_mgr" && each.is_up);
  notice.textContent = isManagerUp
    ? `The spaces are being made: ${snapshot.progress || "waiting for cells"}.`
    : "The cell manager is not there yet: the map comes with it.";
}

function showLegend(space, shapeOf) {
  const counts = new Map();
  for (const { type, real } of space?.entities ?? []) if (real) counts.set(type, (counts.get(type) ?? 0) + 1);
  const rows = [...counts].sort(([a], [b]) => shapeOf.get(a) - shapeOf.get(b));
  const legend = find("legend");
  const names = JSON.stringify(rows.map(([type]) => [type, shapeOf.get(type)]));
  if (legend.dataset.names !== names) {
    legend.dataset.names = names;
    legend.replaceChildren(...rows.flatMap(([type]) => [
      shapeSample(shapeOf.get(type)),
      element("span", { text: type }),
      element("span", { className: "count" }),
    ]));
  }
  legend.querySelectorAll(".count").forEach((each, at) => (each.textContent = String(rows[at][1])));
}

function shapeSample(shape) {
  const sample = element("canvas");
  Object.assign(sample, { width: 32, height: 32 });
  const context = sample.getContext("2d");
  context.beginPath();
  pathOf(context, shape, 16, 16, 10);
  context.fillStyle = "#857c70";
  context.fill();
  return sample;
}

function appLine(app) {
  const swatch = element("span", { className: "swatch" });
  if (app.kind === "cell_app") swatch.style.background = colourOf(app.app);
  const load = app.is_up ? (app.load === null ? "" : `${Math.round(app.load * 100)} %`) : "not there";
  const line = element("div", { className: "line" }, swatch);
  line.append(element("span", { className: "name", text: shortName(app.app), title: app.app }));
  line.append(element("span", { className: "load", text: load }));
  const made = element("div", { className: app.is_up ? "app" : "app down" }, line);
  if (app.is_up && app.load !== null) {
    const bar = element("i");
    bar.style.width = `${Math.min(app.load, 1) * 100}%`;
    if (app.kind === "cell_app") bar.style.background = colourOf(app.app);
    made.append(element("div", { className: "bar" }, bar));
  }
  const facts = factsText(app);
  if (facts) made.append(element("div", { className: "facts", text: facts }));
  return made;
}

/** The numbers of a view that are not 0, and its other facts, as one line of text. */
function factsText(app) {
  const told = [];
  for (const [name, value] of Object.entries(app.facts)) {
    const label = name.replaceAll("_", " ");
    if (typeof value === "number" && value) told.push(`${label} ${Math.round(value * 100) / 100}`);
    else if (value === false) told.push(`not: ${label}`);
    else if (value && typeof value === "object" && !Array.isArray(value) && name !== "links") {
      const inside = Object.entries(value).filter(([, each]) => typeof each === "number" && each);
      if (inside.length) told.push(`${label}: ${inside.map(([key, each]) => `${each} ${key}`).join(", ")}`);
    }
  }
  return told.join(" · ");
}
