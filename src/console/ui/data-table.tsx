import type { KeyboardEvent, ReactNode } from "react";

export type TableColumn<T> = {
  id: string;
  header: ReactNode;
  cell: (row: T) => ReactNode;
  isNumber?: boolean;
  /** Place on a phone's card: hidden, at the end of the first line, or a separate line. */
  card?: "hidden" | "end" | "full";
  width?: string;
};

type Props<T> = {
  label: string;
  columns: TableColumn<T>[];
  rows: T[];
  keyOf: (row: T) => string;
  /** Marks a row that needs attention. */
  isFailed?: (row: T) => boolean;
  selected?: string | null;
};

const CARD = { hidden: "h", end: "st", full: "full" };

/** A table, and cards on a phone. The first link of a row opens it; `j` and `k` move between rows. */
export function DataTable<T>({ label, columns, rows, keyOf, isFailed, selected = null }: Props<T>) {
  return (
    <table className="tbl cards" aria-label={label}>
      <thead>
        <tr>
          {columns.map(({ id, header, isNumber, width }) => (
            <th key={id} scope="col" className={isNumber ? "num" : ""} style={{ width }}>
              {header}
            </th>
          ))}
        </tr>
      </thead>
      <tbody onKeyDown={moveBetweenRows}>
        {rows.map((row) => (
          <tr
            key={keyOf(row)}
            className={isFailed?.(row) ? "is-err" : ""}
            aria-selected={selected === keyOf(row) || undefined}
          >
            {columns.map(({ id, cell, isNumber, card }) => (
              <td key={id} className={`${isNumber ? "num" : ""} ${card ? CARD[card] : ""}`}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const STEPS: Record<string, number> = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 };

export function moveBetweenRows(event: KeyboardEvent<HTMLElement>): void {
  const step = STEPS[event.key];
  const isTyping =
    event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
  if (step === undefined || isTyping || event.ctrlKey || event.metaKey) return;
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>("tr > td:first-child a")];
  const row = (event.target as HTMLElement).closest("tr");
  const current = links.findIndex((link) => row?.contains(link));
  links[current + step]?.focus();
  event.preventDefault();
}
