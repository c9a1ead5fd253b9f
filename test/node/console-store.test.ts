import { expect, test } from "vitest";
import { idOf, paramsOf } from "../../src/console/pages/store/store-item.ts";

test.each([
  [["users", "ada"], "profile"],
  [["files", "src/index"], "a/b"],
  [["users"], ".hidden..key"],
])("the id of an item names the namespace %j and the key %s", (namespace, key) => {
  expect(paramsOf(idOf({ namespace, key }))).toEqual({ namespace: namespace.join("."), key });
});
