import { getRouteApi } from "@tanstack/react-router";
import type { DeliveriesList } from "../../../../agent-server/webhooks/schema.ts";
import { useApiQuery } from "../../../api/hooks.ts";
import { apiPath } from "../../../api/path.ts";
import { LiveControl, usePolling } from "../../../shell/live-control.tsx";
import { Empty, Panel } from "../../../ui/panel.tsx";
import { QueryState } from "../../../ui/states.tsx";
import { CursorPager } from "../frame/cursor-pager.tsx";
import { SectionHead } from "../frame/head.tsx";
import { DELIVERY_STATUSES } from "../frame/search.ts";
import { DeliveryRow, TraceRow } from "./delivery.tsx";
import { SigningSecret } from "./signing-secret.tsx";

const route = getRouteApi("/w/$workspace/settings/$section");
const POLL_MS = 3000;
const PAGE = 50;

/** Lists the deliveries of webhooks and traces, and has the secret that signs webhooks. */
export function Webhooks() {
  const { kind } = route.useSearch();
  // The key drops the rows of one kind while those of the other load.
  return <Deliveries key={kind} />;
}

function Deliveries() {
  const { status, cursor, kind } = route.useSearch();
  const polling = usePolling();
  const query = useApiQuery<DeliveriesList>(apiPath`/v1/run-webhooks/deliveries`, {
    query: { limit: PAGE, status, cursor, kind },
    poll: polling.isPaused ? false : POLL_MS,
    keepPrevious: true,
  });
  return (
    <>
      <SectionHead
        title="Webhooks"
        sub="A run that was created with a webhook sends its outcome there, and a deployment its traces to an OTLP endpoint."
        live={<LiveControl polling={polling} query={query} title="Read every 3 s" />}
      />
      <div className="stack">
        <SigningSecret />
        <div className="bar">
          <KindFilter />
        </div>
        <QueryState query={query} what="The deliveries could not be read">
          {({ resources, next_cursor }) => (
            <Panel
              title="Deliveries"
              end={<StatusFilter />}
              footer={
                <CursorPager
                  noun="delivery"
                  nouns="deliveries"
                  count={resources.length}
                  next={next_cursor}
                />
              }
            >
              {resources.length === 0 ? (
                <Empty title={status ? `No delivery is ${status}` : "No deliveries"}>
                  {kind === "trace"
                    ? "A deployment whose variables name an OTLP endpoint sends each trace there after its run. Its delivery is kept for a day."
                    : "A delivery appears when a run with a webhook ends. It is kept for a month."}
                </Empty>
              ) : (
                <ul aria-label="Deliveries">
                  {resources.map((each) =>
                    kind === "trace" ? (
                      <TraceRow key={each.run_id} delivery={each} />
                    ) : (
                      <DeliveryRow key={each.run_id} delivery={each} />
                    ),
                  )}
                </ul>
              )}
            </Panel>
          )}
        </QueryState>
      </div>
    </>
  );
}

function KindFilter() {
  const { kind } = route.useSearch();
  return (
    <nav className="seg" aria-label="Kind of the deliveries">
      {([undefined, "trace"] as const).map((each) => (
        <route.Link
          key={each ?? "run"}
          to="."
          search={{ kind: each }}
          aria-current={kind === each ? "page" : undefined}
        >
          {each === undefined ? "Webhooks" : "Traces"}
        </route.Link>
      ))}
    </nav>
  );
}

function StatusFilter() {
  const { status, kind } = route.useSearch();
  return (
    <nav className="seg" aria-label="Status of the deliveries">
      {[undefined, ...DELIVERY_STATUSES].map((each) => (
        <route.Link
          key={each ?? "all"}
          to="."
          search={{ status: each, kind }}
          aria-current={status === each ? "page" : undefined}
        >
          {each === undefined ? "All" : WORDS[each]}
        </route.Link>
      ))}
    </nav>
  );
}

const WORDS = { pending: "Pending", delivered: "Delivered", failed: "Failed" } as const;
