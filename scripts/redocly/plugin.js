// Rules for /openapi.json that Redocly's own rules do not express.

/** Each body of a request or of a success has an example. */
function bodyExample() {
  return {
    MediaType({ example, examples }, { report, location }) {
      const isError = /\/responses\/[45]\d\d\//.test(location.pointer);
      if (isError || example !== undefined || examples !== undefined) return;
      report({
        message: "has no example: state one in the route, or for the strings of the schema",
        location,
      });
    },
  };
}

/** Each property has a description, or refers to a schema that has one. */
function propertyDescription() {
  return {
    SchemaProperties(properties, { report, location, resolve }) {
      for (const [name, property] of Object.entries(properties)) {
        if (isDescribed(property, resolve)) continue;
        report({ message: `${name}: has no description`, location: location.child([name]) });
      }
    },
  };
}

function isDescribed({ description, $ref, allOf = [] }, resolve) {
  if (description !== undefined) return true;
  if ($ref !== undefined) return isDescribed(resolve({ $ref }).node ?? {}, resolve);
  return allOf.some((part) => isDescribed(part, resolve));
}

// biome-ignore lint/style/noDefaultExport: Redocly loads the default export.
export default function heddle() {
  const rules = { "body-example": bodyExample, "property-description": propertyDescription };
  return { id: "heddle", rules: { oas3: rules } };
}
