import { type ReactNode, useState } from "react";
import { formatNumber } from "../formats.ts";

const MAX_SHOWN = 5000;

type Props = {
  text: string;
  max?: number;
  /** Draws the part that is shown. Default: the text itself. */
  draw?: (text: string) => ReactNode;
};

/** Shows a text. A long one is cut, and followed by a button that shows all of it. */
export function LongText({ text, max = MAX_SHOWN, draw = itself }: Props) {
  const [isWhole, setWhole] = useState(false);
  if (text.length <= max || isWhole) return <>{draw(text)}</>;
  return (
    <>
      {draw(text.slice(0, max))}{" "}
      <button type="button" className="btn sm" onClick={() => setWhole(true)}>
        Show all {formatNumber(text.length)} characters
      </button>
    </>
  );
}

function itself(text: string): ReactNode {
  return text;
}
