import type { JSX } from "react";
import * as react from "react/jsx-runtime";
import { showText } from "./ui/formats.ts";

/**
 * React's runtime, in which no text that a page shows is invisible, or reorders the text beside it: each is shown as
 * showText writes it, wherever it comes from. The values of fields stay as they are.
 */
export type { JSX };

export const { Fragment } = react;

const TEXTS = ["title", "placeholder", "aria-label", "alt"];

type Make = typeof react.jsx;
type Props = Record<string, unknown>;

export const jsx: Make = (type, props, key) => react.jsx(type, shownBy(type, props), key);
export const jsxs: Make = (type, props, key) => react.jsxs(type, shownBy(type, props), key);

/** A function shows its texts by elements, which come here themselves. The others, as links, forward what they get. */
function shownBy(type: unknown, props: unknown): unknown {
  if (typeof type === "function") return props;
  const given = props as Props;
  const children = showChild(given.children);
  let changed = children === given.children ? given : { ...given, children };
  for (const name of TEXTS) {
    const text = showChild(given[name]);
    if (text !== given[name]) changed = { ...changed, [name]: text };
  }
  return changed;
}

function showChild(value: unknown): unknown {
  if (typeof value === "string") return showText(value);
  if (!Array.isArray(value)) return value;
  let changed: unknown[] | null = null;
  for (const [at, each] of value.entries()) {
    const text = showChild(each);
    if (text === each) continue;
    changed ??= [...value];
    changed[at] = text;
  }
  return changed ?? value;
}
