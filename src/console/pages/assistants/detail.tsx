import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import type {
  Assistant,
  AssistantVersion,
} from "../../../agent-server/threads/api/assistants/assistant-schema.ts";
import { useApiChange, useApiQuery } from "../../api/hooks.ts";
import { type ApiPath, under } from "../../api/path.ts";
import { useMay } from "../../api/session.ts";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { JsonView } from "../../ui/json-view/json-view.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryState } from "../../ui/states.tsx";
import { Status } from "../../ui/status.tsx";
import { useToast } from "../../ui/toasts.tsx";
import { Id, Time } from "../../ui/values.tsx";
import { AssistantActions } from "./actions.tsx";

const route = getRouteApi("/w/$workspace/assistants");
const PAGE = 100;
const RETRY_MS = 1000;

type Props = { assistant: Assistant; path: ApiPath };

/** Versions of an assistant, and the configuration of one. */
export function AssistantDetail({ assistant, path }: Props) {
  const { assistant_id, name, description } = assistant;
  const { version = assistant.version } = route.useSearch();
  const mayWrite = useMay("write");
  const query = useApiQuery<AssistantVersion[]>(under(path)`/${assistant_id}/versions`, {
    post: { limit: PAGE },
    // Another person may save a version while this one is shown.
    poll: (versions) =>
      versions?.some((each) => each.version === assistant.version) ? false : RETRY_MS,
  });
  return (
    <div className="stack">
      <Panel
        title={<span className="break-words">{name}</span>}
        end={mayWrite && <AssistantActions assistant={assistant} path={path} />}
      >
        <dl className="kv in-p">
          <dt>Id</dt>
          <dd>
            <Id id={assistant_id} />
          </dd>
          {description && (
            <>
              <dt>Description</dt>
              <dd className="break-words">{description}</dd>
            </>
          )}
        </dl>
      </Panel>
      <QueryState query={query} what="The versions could not be read" rows={3}>
        {(versions) => (
          <>
            <Panel
              title="Versions"
              footer={versions.length === PAGE ? `The newest ${PAGE} versions` : undefined}
            >
              <ul aria-label="Versions">
                {versions.map((each) => (
                  <VersionRow
                    key={each.version}
                    version={each}
                    assistant={assistant}
                    path={path}
                    isShown={each.version === version}
                  />
                ))}
              </ul>
            </Panel>
            <Configuration version={versions.find((each) => each.version === version)} />
          </>
        )}
      </QueryState>
    </div>
  );
}

type RowProps = Props & { version: AssistantVersion; isShown: boolean };

function VersionRow({ version, assistant, path, isShown }: RowProps) {
  const mayWrite = useMay("write");
  const [isOpen, setOpen] = useState(false);
  const isLatest = version.version === assistant.version;
  return (
    <li className={`in-p border-b border-line-soft row ${isShown ? "bg-accent-soft" : ""}`}>
      <route.Link
        to="."
        search={(former) => ({ ...former, version: version.version })}
        aria-current={isShown || undefined}
        className="m"
      >
        Version {version.version}
      </route.Link>
      <span className="dim sm">
        <Time at={version.created_at} />
      </span>
      <span className="push">
        {isLatest && (
          <Status kind="ok" plain>
            In use
          </Status>
        )}
        {!isLatest && mayWrite && (
          <button type="button" className="btn sm" onClick={() => setOpen(true)}>
            Use this version
          </button>
        )}
      </span>
      {isOpen && (
        <UseVersion
          assistant={assistant}
          path={path}
          version={version.version}
          onClose={() => setOpen(false)}
        />
      )}
    </li>
  );
}

type UseProps = Props & { version: number; onClose: () => void };

function UseVersion({ assistant: { assistant_id, name }, path, version, onClose }: UseProps) {
  const toast = useToast();
  const { mutateAsync } = useApiChange({
    path: under(path)`/${assistant_id}/latest`,
    body: () => ({ version }),
    invalidates: [path],
  });
  return (
    <ConfirmDialog
      title={`Use version ${version} of ${name}?`}
      act={`Use version ${version}`}
      keep="Keep as it is"
      onAct={() => mutateAsync().then(() => toast(`Runs use version ${version} from now on`))}
      onClose={onClose}
    >
      Runs that start from now on use it. Runs under way are not affected. No version is deleted, so
      you can go back the same way.
    </ConfirmDialog>
  );
}

function Configuration({ version }: { version: AssistantVersion | undefined }) {
  if (version === undefined) return null;
  const { config, context, metadata } = version;
  return (
    <Panel title={`Configuration of version ${version.version}`}>
      <div className="in-p grid gap-3">
        <JsonView label="Config" value={config} />
        {context !== null && context !== undefined && <JsonView label="Context" value={context} />}
        <JsonView label="Metadata" value={metadata} />
      </div>
    </Panel>
  );
}
