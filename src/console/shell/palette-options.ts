import type { WaitingThreads } from "../../agent-server/threads/api/inbox/inbox-schema.ts";
import type { DeploymentsList } from "../../control-plane/deployments/schema.ts";
import type { Lookup, LookupMatch } from "../../control-plane/lookup/lookup-schema.ts";
import { useApiQuery } from "../api/hooks.ts";
import { apiPath } from "../api/path.ts";
import { useMay } from "../api/session.ts";
import { useMayExport } from "../exports/names.ts";
import { questionOf } from "../runs/question.ts";
import { isId } from "../state/search.ts";
import { wordSearch } from "../traces/custom-range.ts";
import { lastListOf } from "../traces/last-list.ts";
import { useProject } from "../traces/use-project.ts";
import { formatAge } from "../ui/formats.ts";
import type { IconName } from "../ui/icon.tsx";
import { PLACES } from "./places.ts";

export type PaletteOption = {
  label: string;
  icon: IconName;
  /** Below `/w/{workspace}`. */
  path: string;
  hint?: string | undefined;
};

export type PaletteGroup = { name: string; options: PaletteOption[] };

/** `status`: the text that is shown when there are no options. */
export type PaletteAnswer = { groups: PaletteGroup[]; status: string };

const MAX_DEPLOYMENTS = 100;
const MAX_WAITING = 50;
/** Largest number of waiting threads, and of deployments, that are shown. */
const SHOWN = 6;
const NO_MATCH = "Nothing in this workspace has this id.";

/** Returns the resources with a typed id, or else the options whose label contains the text. */
export function usePaletteGroups(text: string): PaletteAnswer {
  const wanted = text.trim();
  const id = isId(wanted) ? wanted : null;
  const lookup = useApiQuery<Lookup>(id === null ? null : apiPath`/v1/lookup/${id}`);
  const { deployments, waiting } = useNamed(wanted);
  const actions = useActions();
  const search = useSearchOption(wanted);
  const status = lookup.isLoading ? "Looking the id up" : (lookup.error?.message ?? NO_MATCH);
  if (id !== null) {
    const options = (lookup.data?.matches ?? []).map(showMatch);
    return { groups: filled([{ name: "This id", options }]), status };
  }
  const indexIn = ({ label }: PaletteOption) => label.toLowerCase().indexOf(wanted.toLowerCase());
  const isWanted = (option: PaletteOption) => indexIn(option) !== -1;
  const places = { name: "Places", options: PLACE_OPTIONS.filter(isWanted) };
  // Pages come before threads and deployments only when the text is the beginning of a page's name.
  const isPlace = wanted !== "" && places.options.some((option) => indexIn(option) === 0);
  const groups = filled([
    ...(isPlace ? [places] : []),
    { name: "Waiting for a person", options: waiting.filter(isWanted).slice(0, SHOWN) },
    { name: "Deployments", options: deployments.filter(isWanted).slice(0, SHOWN) },
    ...(isPlace ? [] : [places]),
    { name: "Actions", options: [...actions.filter(isWanted), ...search] },
  ]);
  return { groups, status };
}

function filled(groups: PaletteGroup[]): PaletteGroup[] {
  return groups.filter(({ options }) => options.length > 0);
}

const PLACE_OPTIONS: PaletteOption[] = PLACES.map(({ key, ...place }) => ({
  ...place,
  hint: key && `g ${key}`,
}));

/**
 * Returns the deployments, and the threads that wait for a person. When the list of deployments is cut, the service
 * searches them by name.
 */
function useNamed(wanted: string): { deployments: PaletteOption[]; waiting: PaletteOption[] } {
  const { data: list } = useApiQuery<DeploymentsList>(apiPath`/v2/deployments`, {
    query: { limit: MAX_DEPLOYMENTS },
  });
  const isCut = list?.resources.length === MAX_DEPLOYMENTS && wanted !== "";
  const { data: found } = useApiQuery<DeploymentsList>(isCut ? apiPath`/v2/deployments` : null, {
    query: { limit: SHOWN, name_contains: wanted },
  });
  const { data: inbox } = useApiQuery<WaitingThreads>(apiPath`/v1/interrupts`, {
    query: { limit: MAX_WAITING },
  });
  const names = new Map(list?.resources.map(({ id, name }) => [id, name]));
  const { resources = [] } = (isCut ? found : list) ?? {};
  const deployments = resources.map(({ id, name: label }): PaletteOption => {
    return { label, icon: "layers", path: `/deployments/${id}`, hint: "Deployment" };
  });
  const waiting = (inbox?.threads ?? []).map((thread): PaletteOption => {
    const { deployment_id, thread_id, waiting_since } = thread;
    const age = formatAge(Date.now() - Date.parse(waiting_since));
    return {
      label: questionOf(thread.interrupts),
      icon: "status-waiting",
      path: `/threads/${deployment_id}/${thread_id}`,
      hint: [names.get(deployment_id), age].filter(Boolean).join(", "),
    };
  });
  return { deployments, waiting };
}

function useActions(): PaletteOption[] {
  const mayWrite = useMay("write");
  const mayExport = useMayExport();
  return [
    ...(mayWrite ? [action("New deployment", "/deployments/new")] : []),
    ...(mayExport ? [action("New export", "/exports/new")] : []),
  ];
}

function action(label: string, path: string): PaletteOption {
  return { label, icon: "plus", path };
}

/** Returns a search for the text in the project and the time that the list of traces had last. */
function useSearchOption(text: string): PaletteOption[] {
  const { project } = useProject(undefined);
  if (text === "") return [];
  const { label, search } = wordSearch(text, project, lastListOf(project?.id));
  return [{ label, icon: "search", path: `/traces?${new URLSearchParams(search)}` }];
}

function showMatch({ kind, id, deployment_id, trace_id }: LookupMatch): PaletteOption {
  const shown = {
    deployment: { label: "Deployment", icon: "layers", path: `/deployments/${id}` },
    revision: {
      label: "Revision",
      icon: "layers",
      path: `/deployments/${deployment_id}?${new URLSearchParams({ rev: id })}`,
    },
    thread: { label: "Thread", icon: "thread", path: `/threads/${deployment_id}/${id}` },
    traced_run: {
      label: id === trace_id ? "Trace" : "Span of a trace",
      icon: "trace",
      path: `/traces/${trace_id}?${new URLSearchParams({ span: id })}`,
    },
    bulk_export: { label: "Export", icon: "export", path: `/exports/${id}` },
  } satisfies Record<LookupMatch["kind"], PaletteOption>;
  return { ...shown[kind], hint: id };
}
