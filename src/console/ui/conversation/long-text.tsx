import { useState } from "react";
import { formatNumber } from "../formats.ts";
import { showText } from "../json-view/tree.ts";

const MAX_SHOWN = 5000;

/** Text of users and agents, never markup. A long one is cut, with its length in words. */
export function LongText({ text, max = MAX_SHOWN }: { text: string; max?: number }) {
  const [isWhole, setWhole] = useState(false);
  if (text.length <= max || isWhole) return showText(text);
  return (
    <>
      {showText(text.slice(0, max))}{" "}
      <button type="button" className="btn sm" onClick={() => setWhole(true)}>
        Show all {formatNumber(text.length)} characters
      </button>
    </>
  );
}
