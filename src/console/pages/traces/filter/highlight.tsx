import { type RefObject, useEffect, useRef } from "react";
import type { FilterError } from "../../../traces/filter-error.ts";
import { tokensOf } from "../../../traces/language.ts";

type Props = {
  text: string;
  error: FilterError | null;
  input: RefObject<HTMLInputElement | null>;
};

/** Draws the coloured filter behind the field, whose text is transparent. Scrolls with the field. */
export function Highlight({ text, error, input }: Props) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const field = input.current;
    const scroll = () => box.current?.scrollTo({ left: field?.scrollLeft ?? 0 });
    scroll();
    field?.addEventListener("scroll", scroll);
    return () => field?.removeEventListener("scroll", scroll);
  });
  const bad = error?.offset ?? null;
  return (
    <div ref={box} className="filter-hl" aria-hidden="true">
      {partsOf(text).map(({ at, part, tone }) => (
        <span
          key={at}
          className={`${tone} ${bad !== null && covers(at, part, bad) ? "x-bad" : ""}`}
        >
          {part}
        </span>
      ))}
      {bad !== null && bad >= text.length && <span className="x-bad">{"\u00a0\u00a0"}</span>}
    </div>
  );
}

function covers(at: number, part: string, offset: number): boolean {
  return part.trim() !== "" && offset >= at && offset < at + part.length;
}

type Part = { at: number; part: string; tone: string };

function partsOf(text: string): Part[] {
  const parts: Part[] = [];
  let end = 0;
  for (const { text: token, at } of tokensOf(text)) {
    if (at > end) parts.push({ at: end, part: text.slice(end, at), tone: "" });
    end = at + token.length;
    parts.push({ at, part: token, tone: toneOf(token, text.slice(end)) });
  }
  if (end < text.length) parts.push({ at: end, part: text.slice(end), tone: "" });
  return parts;
}

function toneOf(token: string, rest: string): string {
  if (/^["']/.test(token)) return "x-str";
  if (/^-?\d/.test(token)) return "x-num";
  if (/^(true|false|null)$/.test(token)) return "x-lit";
  return /^\s*\(/.test(rest) && /^\w/.test(token) ? "x-fn" : "";
}
