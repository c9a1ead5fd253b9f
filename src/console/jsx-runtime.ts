// React's JSX runtime for the console. It passes each text through `showText`, so that invisible characters and marks of
// direction in data become visible. Values of fields are unchanged.
import type { JSX } from "react";
import * as react from "react/jsx-runtime";
import { showText } from "./ui/formats.ts";

export type { JSX };

export const { Fragment } = react;

const TEXT_ATTRIBUTES = ["title", "placeholder", "aria-label", "alt"];

type Make = typeof react.jsx;
type Props = Record<string, unknown>;

export const jsx: Make = (type, props, key) => react.jsx(type, showTexts(type, props), key);
export const jsxs: Make = (type, props, key) => react.jsxs(type, showTexts(type, props), key);

/**
 * Skips function components: their elements are created here too. `forwardRef` components such as `Link` are objects and
 * pass their props on; `showText` changes nothing the second time.
 */
function showTexts(type: unknown, props: unknown): unknown {
  if (typeof type === "function") return props;
  const given = props as Props;
  const children = showValue(given.children);
  let changed = children === given.children ? given : { ...given, children };
  for (const name of TEXT_ATTRIBUTES) {
    const text = showValue(given[name]);
    if (text !== given[name]) changed = { ...changed, [name]: text };
  }
  return changed;
}

function showValue(value: unknown): unknown {
  if (typeof value === "string") return showText(value);
  if (!Array.isArray(value)) return value;
  let changed: unknown[] | null = null;
  for (const [at, each] of value.entries()) {
    const text = showValue(each);
    if (text === each) continue;
    changed ??= [...value];
    changed[at] = text;
  }
  return changed ?? value;
}
