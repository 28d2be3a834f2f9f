// Parts: the page's own objects for entities, and the calls of their methods. `terrazzo.js` describes them for pages.

import { splitName } from "./schema.js";

/** A handler of the page whose errors go to the browser's console, with `what` in front, and no further. */
export function confined(what, handler) {
  return (first, second, third) => {
    try {
      handler(first, second, third);
    } catch (error) {
      console.error(`${what}:`, error);
    }
  };
}

/** Runs code of the page. An error in it goes to the browser's console, with `what` in front, and no further. */
function runConfined(what, code) {
  try {
    code();
  } catch (error) {
    console.error(`${what}:`, error);
  }
}

/**
 * The handlers of the events about an entity. Each runs a method of the entity's part, then a handler of the page.
 * onMoved and onChange, which come often, are null if the page has neither parts nor a handler for them.
 */
export function partEvents(classes, pageHandlers) {
  const run = (entity, name, ...args) => {
    const [method, component] = splitName(name);
    const owner = component === null ? entity.part : entity.part?.[component];
    if (!hasMethod(owner, method)) return;
    runConfined(`${entity.type} ${entity.id}: ${name}`, () => owner[method](...args));
  };
  const makePart = (entity) => {
    if (!Object.hasOwn(classes, entity.type)) return;
    runConfined(`${entity.type} ${entity.id}: constructor`, () => {
      entity.part = new classes[entity.type](entity);
    });
  };
  const handlerOf = (name) => (entity) => {
    if (name === (entity.isPlayer ? "onPlayer" : "onEnter")) makePart(entity);
    if (entity.part !== null) run(entity, name);
    pageHandlers[name]?.(entity);
  };
  const names = ["onPlayer", "onEnter", "onLeave", "onSpace", "onMoved"];
  const handlers = {
    ...Object.fromEntries(names.map((name) => [name, handlerOf(name)])),
    onSpaceData: (entity, changed) => {
      if (entity.part !== null) run(entity, "onSpaceData", changed);
      pageHandlers.onSpaceData?.(entity, changed);
    },
    onChange: (entity, name, change) => {
      if (entity.part !== null) run(entity, ...callbackOf(entity, name, change));
      pageHandlers.onChange?.(entity, name, change);
    },
    onCall: (entity, name, args) => {
      run(entity, name, ...args);
      pageHandlers.onCall?.(entity, name, args);
    },
  };
  const hasParts = Object.keys(classes).length > 0;
  for (const name of ["onMoved", "onChange"]) if (!hasParts && !pageHandlers[name]) handlers[name] = null;
  return handlers;
}

/** Whether a part, or the object of a component in it, has a method of this name that not every object has. */
function hasMethod(part, name) {
  return typeof part?.[name] === "function" && !(name in Object.prototype);
}

/** The name and the arguments of the part's method for a change. */
function callbackOf(entity, property, change) {
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

/** A copy of a changed value as it was before the change; `path` leads from the value to the change. */
function valueBefore(value, path, change) {
  if (!path.length) {
    if (change.kind === "nested") return change.old;
    return copyOf(value.slice(0, change.start).concat(change.old, value.slice(change.end)));
  }
  return copyOf(value, (child, step) => (step === path[0] ? valueBefore(child, path.slice(1), change) : copyOf(child)));
}

/** A copy of a value with copies of the arrays and records inside; `copyChild` copies the children. */
function copyOf(value, copyChild = (child) => copyOf(child)) {
  if (Array.isArray(value)) {
    const copy = value.map((child, step) => copyChild(child, step));
    return Object.isFrozen(value) ? Object.freeze(copy) : copy;
  }
  if (value?.constructor !== Object) return value;
  return Object.fromEntries(Object.entries(value).map(([step, child]) => [step, copyChild(child, step)]));
}
