import type { KeyboardEvent, MouseEvent as ReactMouseEvent, ReactNode } from "react";

export type TableColumn<T> = {
  id: string;
  header: ReactNode;
  cell: (row: T) => ReactNode;
  isRightAligned?: boolean;
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

/**
 * A table, and cards on a phone. A click on a row opens the link of its first cell. The arrow keys, `j` and `k` move
 * between these links.
 */
export function DataTable<T>({ label, columns, rows, keyOf, isFailed, selected = null }: Props<T>) {
  return (
    <table className="tbl cards" aria-label={label}>
      <thead>
        <tr>
          {columns.map(({ id, header, isRightAligned, width }) => (
            <th key={id} scope="col" className={isRightAligned ? "num" : ""} style={{ width }}>
              {header}
            </th>
          ))}
        </tr>
      </thead>
      <tbody {...ROW_EVENTS}>
        {rows.map((row) => (
          <tr
            key={keyOf(row)}
            className={isFailed?.(row) ? "is-err" : ""}
            aria-selected={selected === keyOf(row) || undefined}
          >
            {columns.map(({ id, cell, isRightAligned, card }) => (
              <td key={id} className={`${isRightAligned ? "num" : ""} ${card ? CARD[card] : ""}`}>
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

function moveBetweenRows(event: KeyboardEvent<HTMLElement>): void {
  const step = STEPS[event.key];
  const isElsewhere = (event.target as HTMLElement).closest("input, select, textarea, dialog");
  if (step === undefined || isElsewhere || event.ctrlKey || event.metaKey) return;
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>("tr > td:first-child a")];
  const row = (event.target as HTMLElement).closest("tr");
  const current = links.findIndex((link) => row?.contains(link));
  links[current + step]?.focus();
  event.preventDefault();
}

/**
 * Opens the link of a row that is clicked. Ignores clicks on controls and in dialogs, and the end of a text selection.
 */
function openRow(event: ReactMouseEvent<HTMLElement>): void {
  const target = event.target as HTMLElement;
  if (target.closest("a, button, input, select, label, summary, textarea, dialog")) return;
  if (getSelection()?.type === "Range") return;
  const { ctrlKey, metaKey, shiftKey } = event;
  const click = { bubbles: true, cancelable: true, ctrlKey, metaKey, shiftKey };
  const link = target.closest("tr")?.querySelector("td:first-child a");
  link?.dispatchEvent(new MouseEvent("click", click));
}

/** Event handlers of a `tbody` whose rows have a link in the first cell. */
export const ROW_EVENTS = { onKeyDown: moveBetweenRows, onClick: openRow };
