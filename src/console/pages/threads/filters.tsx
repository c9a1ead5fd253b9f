import { getRouteApi, Link } from "@tanstack/react-router";
import { useWorkspaceId } from "../../api/hooks.ts";
import { DeploymentSelect } from "../../runs/deployment-select.tsx";
import { pathTo } from "../../state/path.ts";
import { SearchField } from "../../ui/search-field.tsx";
import type { ThreadsSearch } from "./search.ts";
import { StatusFilter, type useCounts } from "./status-filter.tsx";

const route = getRouteApi("/w/$workspace/threads");
/** Matches the condition that excludes threads that a cron has created: these have the key `cron_id`. */
const NO_CRONS = /(^|\s)-cron_id(?=\s|$)/;

type FiltersProps = {
  deployment: string;
  counts: ReturnType<typeof useCounts>;
  change: (search: Partial<ThreadsSearch>) => void;
};

export function Filters({ deployment, counts, change }: FiltersProps) {
  const { q = "", status } = route.useSearch();
  const search = (text: string) => change({ q: text.trim() || undefined, page: undefined });
  return (
    <div className="bar">
      <StatusFilter
        counts={counts}
        status={status}
        onChange={(chosen) => change({ status: chosen, page: undefined })}
      />
      <SearchField label="Id, key=value, values.key=value" value={q} onChange={search} />
      <label className="row sm dim nw">
        <input
          type="checkbox"
          checked={NO_CRONS.test(q)}
          onChange={({ target }) =>
            search(target.checked ? `${q} -cron_id` : q.replace(NO_CRONS, ""))
          }
        />
        Without crons
      </label>
      <DeploymentSelect
        chosen={deployment}
        onChange={(id) => change({ deployment: id, page: undefined })}
      />
    </div>
  );
}

/** Explains the filter for a word that is not a condition. Texts of conversations are searched in traces instead. */
export function UnparsedWord({ word, project }: { word: string; project: string | null }) {
  const workspace = useWorkspaceId();
  return (
    <p className="note mb-3" role="status">
      <span>
        Not searched for: <code className="break-all">{word.slice(0, 100)}</code>. Write{" "}
        <code>key=value</code> for metadata, <code>-key</code> for none of this name,{" "}
        <code>values.key=value</code> for the state, or a whole thread id.{" "}
        {project !== null && (
          <Link
            to={pathTo(workspace, "/traces")}
            search={{ project, q: `search(${JSON.stringify(word)})`, range: "30d" }}
          >
            Search the texts of its traces
          </Link>
        )}
      </span>
    </p>
  );
}
