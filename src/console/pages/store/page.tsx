import { getRouteApi } from "@tanstack/react-router";
import { ServingPage } from "../../runs/serving-page.tsx";
import { usePolling } from "../../shell/live-control.tsx";
import { PageHeader } from "../../ui/panel.tsx";
import { Items } from "./items.tsx";
import { NamespaceList } from "./namespaces.tsx";

const route = getRouteApi("/w/$workspace/store");

export function StorePage() {
  const { deployment } = route.useSearch();
  const navigate = route.useNavigate();
  const polling = usePolling();
  return (
    <>
      <PageHeader title="Store" sub="What agents remember beyond a thread." />
      <ServingPage
        wanted={deployment}
        onChange={(id) => void navigate({ search: { deployment: id } })}
      >
        {({ id }) => (
          <div className="revs" key={id}>
            <NamespaceList deployment={id} isPaused={polling.isPaused} />
            <Items deployment={id} polling={polling} />
          </div>
        )}
      </ServingPage>
    </>
  );
}
