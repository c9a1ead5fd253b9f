import { formatCount, formatNumber } from "../../ui/formats.ts";

/** Number of threads on one page. */
export const PAGE_SIZE = 50;

type PagesProps = {
  page: number;
  shown: number;
  total: number | undefined;
  onChange: (page: number) => void;
};

/** Shows the positions of the listed threads and the number of all, and links to other pages. */
export function Pages({ page, shown, total, onChange }: PagesProps) {
  const first = (page - 1) * PAGE_SIZE;
  const text =
    total === undefined || total <= shown
      ? formatCount(shown, "thread")
      : `${formatNumber(first + 1)} to ${formatNumber(first + shown)} of ${formatNumber(total)}`;
  return (
    <>
      <span>{text}</span>
      {(page > 1 || shown === PAGE_SIZE) && (
        <span className="push row">
          <button
            type="button"
            className="btn sm"
            disabled={page === 1}
            onClick={() => onChange(page - 1)}
          >
            Newer
          </button>
          <button
            type="button"
            className="btn sm"
            disabled={shown < PAGE_SIZE}
            onClick={() => onChange(page + 1)}
          >
            Older
          </button>
        </span>
      )}
    </>
  );
}
