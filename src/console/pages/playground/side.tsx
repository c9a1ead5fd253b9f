import { getRouteApi } from "@tanstack/react-router";
import type { Assistant } from "../../../agent-server/threads/api/assistants/assistant-schema.ts";
import type { LiveRun } from "../../runs/stream/live-run.ts";
import type { ThreadView } from "../../runs/use-thread.ts";
import { formatCount } from "../../ui/formats.ts";
import { JsonView } from "../../ui/json-view/json-view.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { AsCode } from "./as-code.tsx";
import { GraphPanel } from "./graph-panel.tsx";
import type { Target } from "./use-target.ts";

const route = getRouteApi("/w/$workspace/playground");

const TABS = [
  ["events", "Events"],
  ["state", "State"],
  ["code", "As code"],
] as const;

type Props = { target: Target; assistant: Assistant; view: ThreadView };

export function PlaygroundSide({ target, assistant, view }: Props) {
  const { tab = "events" } = route.useSearch();
  const navigate = route.useNavigate();
  const choose = (chosen: (typeof TABS)[number][0]) =>
    void navigate({
      search: (former) => ({ ...former, tab: chosen === "events" ? undefined : chosen }),
      replace: true,
    });
  return (
    <aside className="side" aria-label="Graph and events">
      <GraphPanel target={target} assistant={assistant} view={view} />
      <Tabs label="Run" tabs={TABS} chosen={tab} onChoose={choose} />
      <div className="stt">
        {tab === "events" && <Events live={view.stream.live} />}
        {tab === "state" && (
          <div className="in-p">
            <JsonView label="State" value={view.values ?? {}} />
          </div>
        )}
        {tab === "code" && <AsCode target={target} assistant={assistant} view={view} />}
      </div>
    </aside>
  );
}

function Events({ live: { lines, dropped } }: { live: LiveRun }) {
  if (lines.length === 0) {
    return <p className="in-p dim">Events of the run appear here as they are streamed.</p>;
  }
  return (
    <>
      {dropped > 0 && (
        <p className="in-p dim sm">{formatCount(dropped, "earlier event")} dropped.</p>
      )}
      <div className="evs" role="log" aria-live="off" aria-label="Events">
        {lines.map(({ key, name, text }) => (
          <div key={key} className="evr">
            <span className="tag mono cut">{name}</span>
            <span className="mono sm cut" title={text}>
              {text}
            </span>
          </div>
        ))}
      </div>
    </>
  );
}
