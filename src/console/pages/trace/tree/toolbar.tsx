import { LEGEND } from "../../../traces/span-kind.ts";
import { Icon } from "../../../ui/icon.tsx";
import { SearchField } from "../../../ui/search-field.tsx";
import { zoomOf } from "../model/scale.ts";
import type { TraceSearch, Zoom } from "../model/search.ts";

type Props = {
  search: TraceSearch;
  hasFailed: boolean;
  /** The time of the chosen span, `null` when it took none. */
  chosen: Zoom | null;
  onChange: (search: TraceSearch) => void;
};

export function TreeToolbar({ search, hasFailed, chosen, onChange }: Props) {
  const { find, view } = search;
  const choose = (next: "errors" | "slow") =>
    onChange({ view: view === next ? undefined : next, find: undefined });
  return (
    <div className="tree-bar">
      <SearchField
        label="Find a span"
        value={find ?? ""}
        onChange={(text) => onChange({ find: text || undefined, view: undefined })}
      />
      {hasFailed && (
        <button
          type="button"
          className="btn sm"
          aria-pressed={view === "errors"}
          onClick={() => choose("errors")}
        >
          <Icon name="status-failed" small /> Errors only
        </button>
      )}
      <button
        type="button"
        className="btn sm"
        aria-pressed={view === "slow"}
        onClick={() => choose("slow")}
      >
        <Icon name="clock" small /> Slowest path
      </button>
      {zoomOf(search) !== null ? (
        <button
          type="button"
          className="btn sm"
          onClick={() => onChange({ from_ms: undefined, to_ms: undefined })}
        >
          Whole trace
        </button>
      ) : (
        chosen !== null && (
          <button
            type="button"
            className="btn sm hide-m"
            title="Or draw over a stretch of the axis"
            onClick={() => onChange({ from_ms: chosen.from, to_ms: chosen.to })}
          >
            Zoom to span
          </button>
        )
      )}
      <span className="push legend hide-m">
        {LEGEND.map(({ word, tone }) => (
          <span key={word} className={tone}>
            <i className="box swatch" />
            <span className="mid">{word}</span>
          </span>
        ))}
      </span>
    </div>
  );
}
