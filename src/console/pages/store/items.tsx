import { getRouteApi } from "@tanstack/react-router";
import { useApiQuery } from "../../api/hooks.ts";
import { apiPath } from "../../api/path.ts";
import { useItem } from "../../api/use-item.ts";
import { LiveControl, type Polling } from "../../shell/live-control.tsx";
import { TopBar } from "../../shell/top-bar.tsx";
import { NoRows, Pager } from "../../ui/blocks/pager.tsx";
import { DataTable, type TableColumn } from "../../ui/data-table.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Empty, Panel } from "../../ui/panel.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import { QueryState } from "../../ui/states.tsx";
import { Time } from "../../ui/values.tsx";
import { ItemDetail } from "./item.tsx";
import { toLabels } from "./search.ts";
import { type FoundItemsPage, idOf, paramsOf, type StoreItem } from "./store-item.ts";

const route = getRouteApi("/w/$workspace/store");
const POLL_MS = 10_000;
const PAGE = 50;
const VALUE_CHARS = 120;

type Props = { deployment: string; polling: Polling };

/** Lists items below a namespace: the last changed first, or the nearest in meaning to a text. */
export function Items({ deployment, polling }: Props) {
  const { ns, key, q, offset = 0 } = route.useSearch();
  const query = useApiQuery<FoundItemsPage>(apiPath`/agents/${deployment}/store/items/search`, {
    post: {
      namespace_prefix: toLabels(ns),
      limit: PAGE,
      offset,
      ...(q && { query: q }),
      refresh_ttl: false,
    },
    poll: polling.isPaused ? false : POLL_MS,
    keepPrevious: true,
  });
  return (
    <div className="stack">
      <TopBar title="Store">
        <LiveControl polling={polling} query={query} title="Read every 10 s" />
      </TopBar>
      <MeaningSearch />
      <QueryState query={query} what="The items could not be read">
        {({ items }) => (
          <>
            {!query.isPlaceholderData && isTextUnused(items, q) && <UnusedText />}
            <ItemTable items={items} offset={offset} />
            {key && <Chosen key={key} id={key} {...{ items, deployment, polling }} />}
          </>
        )}
      </QueryState>
    </div>
  );
}

type ChosenProps = Props & { id: string; items: StoreItem[] };

/** Shows the chosen item, also when another page of the list has it. */
function Chosen({ id, items, deployment, polling }: ChosenProps) {
  const listed = items.find((item) => idOf(item) === id);
  const item = useItem<StoreItem>(apiPath`/agents/${deployment}/store/items`, listed, {
    query: { ...paramsOf(id), refresh_ttl: false },
    poll: polling.isPaused ? false : POLL_MS,
  });
  return item && <ItemDetail item={item} deployment={deployment} />;
}

function MeaningSearch() {
  const { q } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <SearchField
      label="Search by meaning"
      value={q ?? ""}
      onChange={(text) =>
        void navigate({
          search: (former) => ({ ...former, q: text || undefined, offset: undefined }),
          replace: true,
        })
      }
    />
  );
}

/** A store without an index ignores the text, and its items have no score. */
function isTextUnused(items: StoreItem[], q: string | undefined): boolean {
  return q !== undefined && items.length > 0 && items.every(({ score }) => score === undefined);
}

function UnusedText() {
  return (
    <div className="note wait" role="status">
      <Icon name="info" />
      <div>
        This store has no index, so the text was not used: the newest items are shown. Add{" "}
        <code>store.index</code> to langgraph.json to search by meaning.
      </div>
    </div>
  );
}

function ItemTable({ items, offset }: { items: StoreItem[]; offset: number }) {
  const { ns, key } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <Panel
      title={<span className="break-all">{ns ?? "All items"}</span>}
      footer={
        <Pager
          noun="item"
          offset={offset}
          count={items.length}
          size={PAGE}
          onChange={(next) => void navigate({ search: (former) => ({ ...former, offset: next }) })}
        />
      }
    >
      {items.length === 0 ? (
        <NoRows noun="item" offset={offset}>
          <Empty title="No items">
            Agents write items with <code>store.put</code>, and clients with{" "}
            <code>client.store.putItem</code>.
          </Empty>
        </NoRows>
      ) : (
        <DataTable
          label="Items"
          columns={COLUMNS}
          rows={items}
          keyOf={idOf}
          selected={key ?? null}
        />
      )}
    </Panel>
  );
}

const COLUMNS: TableColumn<StoreItem>[] = [
  { id: "key", header: "Key", cell: (row) => <Key item={row} /> },
  {
    id: "namespace",
    header: "Namespace",
    cell: ({ namespace }) => <code className="cut block sm">{namespace.join(".")}</code>,
    card: "full",
  },
  {
    id: "value",
    header: "Value",
    cell: ({ value }) => (
      <span className="cut block mono sm max-w-90">
        {JSON.stringify(value).slice(0, VALUE_CHARS)}
      </span>
    ),
    card: "full",
  },
  {
    id: "updated",
    header: "Changed",
    cell: ({ updated_at }) => <Time at={updated_at} />,
    card: "end",
  },
];

function Key({ item }: { item: StoreItem }) {
  return (
    <route.Link
      to="."
      search={(former) => ({ ...former, key: idOf(item) })}
      className="m text-ink cut block max-w-90"
      title={item.key}
    >
      {item.key}
    </route.Link>
  );
}
