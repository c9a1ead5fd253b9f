import { z } from "@hono/zod-openapi";
import { router } from "../../shared/http/http.ts";
import { warningHeader, warningHeaders } from "../../shared/http/warnings.ts";
import { body, ErrorDetail, json, operationWithTag } from "../../shared/schema.ts";
import {
  Destination,
  DestinationCreateRequest,
  DestinationPatchRequest,
  DestinationPath,
  DestinationProbe,
  DestinationProbeRequest,
} from "../destination-schema.ts";
import { probeDestination } from "./probe-service.ts";
import {
  createDestination,
  deleteDestination,
  getDestination,
  listDestinations,
  probeSavedDestination,
  rotateCredentials,
} from "./service.ts";

export const destinationRoutes = router();

const operation = operationWithTag("Export destinations");
const unusable = {
  400: json(
    ErrorDetail,
    "Malformed JSON, or the bucket refused the probe object: `detail` has the reason and the remedy",
  ),
};
const warning = warningHeaders("The probe object could not be deleted");

const create = operation(
  "post",
  "/api/v1/bulk-exports/destinations",
  "createBulkExportDestination",
  {
    summary: "Create an export destination",
    description: "Writes a probe object to the bucket first.",
    request: { body: body(DestinationCreateRequest) },
    responses: {
      ...unusable,
      200: {
        ...json(Destination, "The destination. Its credentials are stored encrypted"),
        ...warning,
      },
      409: json(ErrorDetail, "The limit of destinations is reached"),
    },
  },
);
destinationRoutes.openapi(create, async (c) => {
  const { destination, warning } = await createDestination(c.var.ctx, c.req.valid("json"));
  return c.json(destination, 200, warningHeader(warning));
});

const probe = operation(
  "post",
  "/api/v1/bulk-exports/destinations/probe",
  "probeBulkExportDestination",
  {
    summary: "Check an export destination",
    description:
      "Checks each right that exports use, and saves nothing. Deletes what it writes to the bucket, if the rights allow that.",
    request: { body: body(DestinationProbeRequest) },
    responses: { 200: json(DestinationProbe, "Result for each right") },
  },
);
destinationRoutes.openapi(probe, async (c) =>
  c.json(await probeDestination(c.var.ctx, c.req.valid("json")), 200),
);

const probeSaved = operation(
  "post",
  "/api/v1/bulk-exports/destinations/{destination_id}/probe",
  "probeSavedBulkExportDestination",
  {
    summary: "Check a saved export destination",
    description:
      "Checks each right of the stored credentials, as `probeBulkExportDestination` does for new ones.",
    request: { params: DestinationPath },
    responses: { 200: json(DestinationProbe, "Result for each right") },
  },
);
destinationRoutes.openapi(probeSaved, async (c) =>
  c.json(await probeSavedDestination(c.var.ctx, c.req.valid("param").destination_id), 200),
);

const list = operation("get", "/api/v1/bulk-exports/destinations", "listBulkExportDestinations", {
  summary: "List export destinations",
  description: "Oldest first.",
  responses: { 200: json(z.array(Destination), "All destinations of the workspace") },
});
destinationRoutes.openapi(list, async (c) => c.json(await listDestinations(c.var.ctx), 200));

const get = operation(
  "get",
  "/api/v1/bulk-exports/destinations/{destination_id}",
  "getBulkExportDestination",
  {
    summary: "Get an export destination",
    description: "Without its credentials, which are never returned.",
    request: { params: DestinationPath },
    responses: { 200: json(Destination, "The destination") },
  },
);
destinationRoutes.openapi(get, async (c) =>
  c.json(await getDestination(c.var.ctx, c.req.valid("param").destination_id), 200),
);

const update = operation(
  "patch",
  "/api/v1/bulk-exports/destinations/{destination_id}",
  "updateBulkExportDestination",
  {
    summary: "Update an export destination",
    description: "Replaces the credentials, after a probe object was written with the new ones.",
    request: { params: DestinationPath, body: body(DestinationPatchRequest) },
    responses: {
      ...unusable,
      200: { ...json(Destination, "The destination with the new credentials"), ...warning },
    },
  },
);
destinationRoutes.openapi(update, async (c) => {
  const { destination_id } = c.req.valid("param");
  const input = c.req.valid("json");
  const { destination, warning } = await rotateCredentials(c.var.ctx, destination_id, input);
  return c.json(destination, 200, warningHeader(warning));
});

const remove = operation(
  "delete",
  "/api/v1/bulk-exports/destinations/{destination_id}",
  "deleteBulkExportDestination",
  {
    summary: "Delete an export destination",
    description: "Deletes its credentials too. Exported files stay in the bucket.",
    request: { params: DestinationPath },
    responses: {
      204: { description: "Deleted" },
      409: json(ErrorDetail, "An active export or a schedule uses the destination"),
    },
  },
);
destinationRoutes.openapi(remove, async (c) => {
  await deleteDestination(c.var.ctx, c.req.valid("param").destination_id);
  return c.body(null, 204);
});
