import { getRouteApi } from "@tanstack/react-router";

const route = getRouteApi("/w/$workspace/settings/$section");

type Props = { noun: string; nouns: string; count: number; next: string | null };

/** Links to older rows, and to the newest ones. The previous page is reached by the browser's back button. */
export function CursorPager({ noun, nouns, count, next }: Props) {
  const { cursor } = route.useSearch();
  const navigate = route.useNavigate();
  const open = (wanted: string | undefined) =>
    void navigate({ search: (former) => ({ ...former, cursor: wanted }) });
  return (
    <>
      <span>
        {`${count} ${count === 1 ? noun : nouns}`}
        {cursor !== undefined && ", older ones"}
        {next !== null && ", and there are more"}
      </span>
      <span className="push row">
        {cursor !== undefined && (
          <button type="button" className="btn sm" onClick={() => open(undefined)}>
            Newest
          </button>
        )}
        {next !== null && (
          <button type="button" className="btn sm" onClick={() => open(next)}>
            Older
          </button>
        )}
      </span>
    </>
  );
}
