import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import type { LogLine } from "../../../../control-plane/deployments/logs/log-schema.ts";
import { type CallOptions, withQuery } from "../../../api/client.ts";
import { follow } from "../../../api/follow.ts";
import { useWorkspaceId } from "../../../api/hooks.ts";
import type { ApiPath } from "../../../api/path.ts";
import type { ServerSentEvent } from "../../../api/sse.ts";
import type { LiveState } from "../../../ui/live-pill.tsx";
import type { LogEntry } from "../../../ui/log-view.tsx";

export type LogRead = {
  lines: LogEntry[];
  /** Number of earlier lines that are no longer kept. */
  dropped: number;
  state: LiveState;
  isLoading: boolean;
  error: Error | null;
};

type LogStream = {
  path: ApiPath;
  query?: CallOptions["query"];
  /** Whether lines are received. A stream that is opened again continues after its last line. */
  isOpen?: boolean;
  /** Called with events other than lines. */
  onEvent?: (event: ServerSentEvent) => void;
  /** Whether a stream that ended has sent everything. Without it, the stream is opened again. */
  isOver?: () => boolean;
};

const FRAME_MS = 50;
const MAX_LINES = 20_000;
const UNREAD: LogRead = { lines: [], dropped: 0, state: "live", isLoading: true, error: null };

/** Follows the lines of a stream while the page is visible. */
export function useLogStream({ isOpen = true, ...options }: LogStream): LogRead {
  const workspace = useWorkspaceId();
  const isVisible = useSyncExternalStore(onVisibility, isPageVisible);
  const [read, setRead] = useState(UNREAD);
  const url = withQuery(options.path, options.query);
  const log = useRef(new ReceivedLog(url));
  const latest = useRef(options);
  latest.current = options;
  const isActive = isOpen && isVisible;
  useEffect(() => {
    if (log.current.url !== url) {
      log.current = new ReceivedLog(url);
      setRead(UNREAD);
    }
    if (!isActive) return;
    const received = log.current;
    const { path, query } = latest.current;
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const show = (change: Partial<LogRead> = {}) => {
      clearTimeout(timer);
      timer = undefined;
      if (!stop.signal.aborted)
        setRead({ ...UNREAD, ...received.tail, isLoading: false, ...change });
    };
    const showSoon = () => {
      timer ??= setTimeout(show, FRAME_MS);
    };
    void follow({
      ...{ path, query },
      workspace,
      signal: stop.signal,
      last: received.last,
      isOver: async () => latest.current.isOver?.() ?? false,
      onOpen: showSoon,
      onEvent: (event) => {
        received.add(event);
        if (event.event !== "log") latest.current.onEvent?.(event);
        showSoon();
      },
      onFailure: () => show({ state: "off" }),
    }).then((error) => show({ error }));
    return () => {
      if (timer !== undefined) show();
      stop.abort();
    };
  }, [workspace, url, isActive]);
  return read;
}

/** Keeps the newest `MAX_LINES` lines of a stream, in their order. */
class ReceivedLog {
  readonly url: string;
  /** Id of the last event, from which the next connection continues. */
  last: string | undefined;
  readonly #lines: LogEntry[] = [];
  #count = 0;

  constructor(url: string) {
    this.url = url;
  }

  add({ id, event, data }: ServerSentEvent): void {
    this.last = id ?? this.last;
    if (event !== "log") return;
    this.#count += 1;
    this.#lines.push({ ...(JSON.parse(data) as LogLine), number: this.#count });
  }

  get tail(): Pick<LogRead, "lines" | "dropped"> {
    this.#lines.splice(0, this.#lines.length - MAX_LINES);
    return { lines: [...this.#lines], dropped: this.#count - this.#lines.length };
  }
}

function onVisibility(listener: () => void): () => void {
  document.addEventListener("visibilitychange", listener);
  return () => document.removeEventListener("visibilitychange", listener);
}

function isPageVisible(): boolean {
  return document.visibilityState === "visible";
}
