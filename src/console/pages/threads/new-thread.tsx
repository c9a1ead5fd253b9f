import { Link } from "@tanstack/react-router";
import { useWorkspaceId } from "../../api/hooks.ts";
import { useMay } from "../../api/session.ts";
import { pathTo } from "../../state/path.ts";
import { Icon } from "../../ui/icon.tsx";

/** The playground creates the thread with its first run. */
export function NewThread({ deployment }: { deployment: string }) {
  const workspace = useWorkspaceId();
  if (!useMay("write")) return null;
  return (
    <Link to={pathTo(workspace, "/playground")} search={{ deployment }} className="btn">
      <Icon name="plus" /> New thread
    </Link>
  );
}
