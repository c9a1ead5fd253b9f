import { formatCount } from "../../../ui/formats.ts";
import { Icon } from "../../../ui/icon.tsx";
import { LogView } from "../../../ui/log-view.tsx";
import { Empty } from "../../../ui/panel.tsx";
import { ErrorState, Skeleton } from "../../../ui/states.tsx";
import type { LogRead } from "./use-log-stream.ts";

type Props = {
  read: LogRead;
  label: "Build log" | "Server log";
  isFollowing: boolean;
  /** Called to follow or to pause. Absent for a log that does not grow. */
  onFollow?: ((isFollowing: boolean) => void) | undefined;
  empty: string;
  /** Number of the line that is scrolled into view and highlighted. */
  target?: number | undefined;
};

/** Shows the received lines of a log. Scrolling up pauses it. */
export function LogTail({ read, label, isFollowing, onFollow, empty, target }: Props) {
  const { lines, dropped, error, isLoading, state } = read;
  if (error) {
    return <ErrorState what={`The ${label.toLowerCase()} could not be read`} error={error} />;
  }
  if (isLoading) return <Skeleton />;
  return (
    <>
      {lines.length === 0 ? (
        <Empty title="No lines">{empty}</Empty>
      ) : (
        <LogView
          label={label}
          lines={lines}
          isFollowing={isFollowing}
          onScrolledUp={() => onFollow?.(false)}
          target={target}
        />
      )}
      <footer className="row in-p dim sm">
        <span>
          {formatCount(lines.length, "line")}
          {state === "paused" && "; paused"}
          {state === "off" && "; not live, connecting again"}
          {dropped > 0 && `; ${dropped} earlier ones are not shown`}
        </span>
        {onFollow && (
          <button type="button" className="btn sm push" onClick={() => onFollow(!isFollowing)}>
            <Icon name={isFollowing ? "pause" : "play"} small />
            {isFollowing ? "Pause" : "Follow"}
          </button>
        )}
      </footer>
    </>
  );
}
