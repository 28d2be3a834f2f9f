// Parts: the page's own objects for entities, and the calls of their methods.

import { splitName } from "./schema.js";

/** What the page's own code throws is shown, with what it was called for, and ends nothing. */
export function confined(what, act) {
  try {
    act();
  } catch (error) {
    console.error(`${what}:`, error);
  }
}

/** The events that are about an entity: first its part hears of them, then the page's handlers, `after`. */
export function partEvents(classes, after) {
  const run = (entity, name, ...args) => {
    const [method, component] = splitName(name);
    const owner = component === null ? entity.part : entity.part?.[component];
    if (!hasMethod(owner, method)) return;
    confined(`${entity.type} ${entity.id}: ${name}`, () => owner[method](...args));
  };
  const make = (entity) => {
    if (!Object.hasOwn(classes, entity.type)) return;
    confined(`${entity.type} ${entity.id}: constructor`, () => {
      entity.part = new classes[entity.type](entity);
    });
  };
  const plain = (name) => (entity) => {
    if (name === (entity.isPlayer ? "onPlayer" : "onEnter")) make(entity);
    run(entity, name);
    after[name](entity);
  };
  const names = ["onPlayer", "onEnter", "onLeave", "onSpace", "onMoved"];
  return {
    ...Object.fromEntries(names.map((name) => [name, plain(name)])),
    onChange: (entity, name, change) => {
      run(entity, ...setter(entity, name, change));
      after.onChange(entity, name, change);
    },
    onCall: (entity, name, args) => {
      run(entity, name, ...args);
      after.onCall(entity, name, args);
    },
  };
}

/** Whether a part has a method of its own class by this name. */
function hasMethod(part, name) {
  return typeof part?.[name] === "function" && !(name in Object.prototype);
}

/** The name and the arguments of the callback that a change becomes. */
function setter(entity, property, change) {
  const { kind, path, old, start, end } = change;
  const name = property.replaceAll(".", "_");
  const plain = `set_${name}`;
  if (kind === "whole") return [plain, old];
  const special = `set_${kind}_${name}`;
  if (!hasMethod(entity.part, special) && hasMethod(entity.part, plain)) {
    return [plain, valueBefore(entity.properties[property], path, change)];
  }
  return [special, kind === "slice" ? [...path, [start, end]] : path, old];
}

/** A copy of a value that has changed, as it was before; `path` leads to the change from here. */
function valueBefore(value, path, change) {
  if (!path.length) {
    if (change.kind === "nested") return change.old;
    return copyOf(value.slice(0, change.start).concat(change.old, value.slice(change.end)));
  }
  return copyOf(value, (child, step) => (step === path[0] ? valueBefore(child, path.slice(1), change) : copyOf(child)));
}

/** A copy, with a copy of everything inside that a change can reach. */
function copyOf(value, inside = (child) => copyOf(child)) {
  if (Array.isArray(value)) {
    const copy = value.map((child, step) => inside(child, step));
    return Object.isFrozen(value) ? Object.freeze(copy) : copy;
  }
  if (value?.constructor !== Object) return value;
  return Object.fromEntries(Object.entries(value).map(([step, child]) => [step, inside(child, step)]));
}
