import { Link } from "@tanstack/react-router";
import { useWorkspaceId } from "../../../api/hooks.ts";
import { pathTo } from "../../../state/path.ts";
import { firstTokenMs, statusOf } from "../../../traces/span-kind.ts";
import { Tags } from "../../../ui/blocks/tags.tsx";
import { cutText, formatCost, formatDuration, formatNumber } from "../../../ui/formats.ts";
import { StatusIcon, toneOf } from "../../../ui/status.tsx";
import { Elapsed, Time } from "../../../ui/values.tsx";
import { firstLine, partOf, type TraceListRow } from "./trace-row.ts";

/** Class of the column of outputs, which only wide screens show. */
export const OUTPUT_CLASS = "max-[1500px]:hidden";

type Props = {
  row: TraceListRow;
  largest: { latency: number; tokens: number; cost: number };
  pick: string | undefined;
  onPick: (id: string) => void;
};

export function TraceRowCells({ row, largest, pick, onPick }: Props) {
  const token = firstTokenMs(row);
  const cost = row.total_cost === null ? null : Number(row.total_cost);
  return (
    <>
      <td className="name">
        <Name row={row} />
      </td>
      <td className={`h ${OUTPUT_CLASS}`}>
        <Preview text={row.outputs_preview} />
      </td>
      <td className="sm dim second">
        <Time at={row.start_time} exact />
      </td>
      <td className="num st">
        {row.status === "pending" ? (
          <span className="live sm nw">
            <Elapsed start={row.start_time} end={row.end_time} /> so far
          </span>
        ) : (
          <BarCell
            part={partOf(row.latency, largest.latency)}
            text={row.latency === null ? "" : formatDuration(row.latency * 1000)}
          />
        )}
      </td>
      <td className="num h nw">{token !== null && formatDuration(token)}</td>
      <td className="num h">
        {row.total_tokens !== null && (
          <BarCell
            part={partOf(row.total_tokens, largest.tokens)}
            text={formatNumber(row.total_tokens)}
          />
        )}
      </td>
      <td className="num h">
        {cost !== null && <BarCell part={partOf(cost, largest.cost)} text={formatCost(cost)} />}
      </td>
      <td className="h">
        <Tags tags={row.tags ?? []} max={2} />
      </td>
      <td className="h">
        <Scores row={row} />
      </td>
      <td className="num second">
        <button
          type="button"
          className="btn ghost sm compare"
          aria-pressed={row.id === pick}
          onClick={() => onPick(row.id)}
        >
          {pick === undefined || row.id === pick ? "Compare" : "With this"}
        </button>
      </td>
    </>
  );
}

function Name({ row }: { row: TraceListRow }) {
  const workspace = useWorkspaceId();
  const { kind, word } = statusOf(row.status);
  const error = firstLine(row.error);
  const span = row.id === row.trace_id ? undefined : row.id;
  return (
    <div className="row">
      <span className={`${toneOf(kind)} small-icon`} title={word}>
        <StatusIcon kind={kind} />
        <span className="sr">{word}</span>
      </span>
      <Link
        to={pathTo(workspace, `/traces/${row.trace_id}`)}
        search={{ span }}
        className="main-a cut"
        title={row.name}
      >
        <bdi>{cutText(row.name, 200)}</bdi>
      </Link>
      {error === null ? (
        <Preview text={row.inputs_preview} />
      ) : (
        <bdi className="err cut grow" title={error}>
          {error}
        </bdi>
      )}
    </div>
  );
}

function Preview({ text }: { text: string | null | undefined }) {
  if (!text) return null;
  return (
    <bdi className="mid cut grow block" title={text}>
      {text}
    </bdi>
  );
}

function BarCell({ part, text }: { part: number; text: string }) {
  return (
    <div className="bar-cell">
      <i style={{ width: `${part * 100}%` }} />
      <b>{text}</b>
    </div>
  );
}

function Scores({ row }: { row: TraceListRow }) {
  const [first, ...others] = Object.entries(row.feedback_stats ?? {});
  if (first === undefined) return null;
  const [key, { avg, n }] = first;
  const text = `${key} ${avg === null ? `${n} ×` : formatNumber(avg)}`;
  return (
    <bdi className="tag cut" title={[text, ...others.map(([name]) => name)].join(", ")}>
      {text}
    </bdi>
  );
}
