import type { ReactNode } from "react";
import { Empty } from "../panel.tsx";

type Props = {
  noun: string;
  offset: number;
  /** Number of rows of this page. */
  count: number;
  /** Number of rows of a full page. */
  size: number;
  /** The first page has the offset `undefined`. */
  onChange: (offset: number | undefined) => void;
};

/** Shows which rows of a list are shown, with buttons for the previous and the next page. */
export function Pager({ noun, offset, count, size, onChange }: Props) {
  const hasMore = count === size;
  if (offset === 0 && !hasMore) return <span>{`${count} ${noun}${count === 1 ? "" : "s"}`}</span>;
  return (
    <>
      <span>
        {count === 0
          ? `No ${noun}s from number ${offset + 1}`
          : `${noun}s ${offset + 1} to ${offset + count}${hasMore ? ", and maybe more" : ", the last ones"}`}
      </span>
      <span className="push row">
        <button
          type="button"
          className="btn sm"
          disabled={offset === 0}
          onClick={() => onChange(Math.max(0, offset - size) || undefined)}
        >
          Previous
        </button>
        <button
          type="button"
          className="btn sm"
          disabled={!hasMore}
          onClick={() => onChange(offset + size)}
        >
          Next
        </button>
      </span>
    </>
  );
}

type NoRowsProps = { noun: string; offset: number; children: ReactNode };

/** Shows why a list is empty. On a later page, refers to the pages before it. */
export function NoRows({ noun, offset, children }: NoRowsProps) {
  if (offset === 0) return children;
  return <Empty title={`No more ${noun}s`}>The pages before this one have all of them.</Empty>;
}
