import { forwardRef } from "react";
import { expect, test } from "vitest";
import { Fragment, jsx, jsxs } from "../../src/console/jsx-runtime.ts";

const SPOOF = "\u202Egnp.exe";
const SHOWN = "\\u{202e}gnp.exe";

test("the JSX runtime escapes invisible characters in texts, titles and labels", () => {
  const link = jsx("a", { children: SPOOF, title: SPOOF, "aria-label": SPOOF, href: "/a" });
  expect(link.props).toEqual({ children: SHOWN, title: SHOWN, "aria-label": SHOWN, href: "/a" });
  const linked = jsx(forwardRef(Shown) as never, { children: SPOOF, title: SPOOF } as object);
  expect(linked.props).toEqual({ children: SHOWN, title: SHOWN });
  const list = jsxs(Fragment, { children: ["Delete ", SPOOF, ["a", [SPOOF]]] });
  expect(list.props).toEqual({ children: ["Delete ", SHOWN, ["a", [SHOWN]]] });
});

function Shown({ children }: { children: string }) {
  return children;
}

test("the JSX runtime leaves field values, clean children and props of functions unchanged", () => {
  const value = jsx("input", { value: SPOOF, placeholder: "Name" });
  expect(value.props).toEqual({ value: SPOOF, placeholder: "Name" });
  const children = ["a", jsx("b", {})];
  expect((jsxs("p", { children }).props as { children: unknown }).children).toBe(children);
  expect(jsx(Shown, { children: SPOOF }).props).toEqual({ children: SPOOF });
});
