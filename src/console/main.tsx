import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { setSignedOutHandler } from "./api/client.ts";
import { queryClient, router } from "./router.tsx";
import { applyTheme, readTheme } from "./shell/theme.ts";

applyTheme(readTheme());
setSignedOutHandler(() => {
  const { href, pathname } = router.state.location;
  if (pathname === "/login") return;
  queryClient.clear();
  void router.navigate({ to: "/login", search: { to: href } });
});

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no element with the id root");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
