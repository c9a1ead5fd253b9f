CREATE TABLE `changes` (
	`scope` text PRIMARY KEY NOT NULL,
	`version` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `changes_version_unique` ON `changes` (`version`);
--> statement-breakpoint
CREATE TRIGGER `changes_of_deployments` AFTER UPDATE OF `workspace_id`, `name`, `slug`, `status`, `active_revision_id`, `secrets_version`, `traffic` ON `deployments` BEGIN INSERT INTO `changes` (`scope`, `version`) VALUES (NEW.`id`, (SELECT coalesce(max(`version`), 0) + 1 FROM `changes`)) ON CONFLICT (`scope`) DO UPDATE SET `version` = excluded.`version`; END;
--> statement-breakpoint
CREATE TRIGGER `changes_of_revisions` AFTER UPDATE OF `status`, `deleted_at` ON `revisions` BEGIN INSERT INTO `changes` (`scope`, `version`) VALUES (NEW.`deployment_id`, (SELECT coalesce(max(`version`), 0) + 1 FROM `changes`)) ON CONFLICT (`scope`) DO UPDATE SET `version` = excluded.`version`; END;
--> statement-breakpoint
CREATE TRIGGER `changes_of_assistants` AFTER UPDATE ON `assistants` BEGIN INSERT INTO `changes` (`scope`, `version`) VALUES (NEW.`deployment_id`, (SELECT coalesce(max(`version`), 0) + 1 FROM `changes`)) ON CONFLICT (`scope`) DO UPDATE SET `version` = excluded.`version`; END;
--> statement-breakpoint
CREATE TRIGGER `changes_of_deleted_assistants` AFTER DELETE ON `assistants` BEGIN INSERT INTO `changes` (`scope`, `version`) VALUES (OLD.`deployment_id`, (SELECT coalesce(max(`version`), 0) + 1 FROM `changes`)) ON CONFLICT (`scope`) DO UPDATE SET `version` = excluded.`version`; END;
--> statement-breakpoint
CREATE TRIGGER `changes_of_organizations` AFTER UPDATE OF `plan` ON `organizations` BEGIN INSERT INTO `changes` (`scope`, `version`) VALUES (NEW.`id`, (SELECT coalesce(max(`version`), 0) + 1 FROM `changes`)) ON CONFLICT (`scope`) DO UPDATE SET `version` = excluded.`version`; END;
--> statement-breakpoint
CREATE TRIGGER `changes_of_new_workspaces` AFTER INSERT ON `workspaces` BEGIN INSERT INTO `changes` (`scope`, `version`) VALUES (NEW.`organization_id`, (SELECT coalesce(max(`version`), 0) + 1 FROM `changes`)) ON CONFLICT (`scope`) DO UPDATE SET `version` = excluded.`version`; END;
--> statement-breakpoint
CREATE TRIGGER `changes_of_deleted_workspaces` AFTER DELETE ON `workspaces` BEGIN INSERT INTO `changes` (`scope`, `version`) VALUES (OLD.`organization_id`, (SELECT coalesce(max(`version`), 0) + 1 FROM `changes`)) ON CONFLICT (`scope`) DO UPDATE SET `version` = excluded.`version`; END;
--> statement-breakpoint
CREATE TRIGGER `changes_of_users` AFTER UPDATE OF `organization_role`, `email` ON `users` BEGIN INSERT INTO `changes` (`scope`, `version`) VALUES (NEW.`organization_id`, (SELECT coalesce(max(`version`), 0) + 1 FROM `changes`)) ON CONFLICT (`scope`) DO UPDATE SET `version` = excluded.`version`; END;
--> statement-breakpoint
CREATE TRIGGER `changes_of_deleted_users` AFTER DELETE ON `users` BEGIN INSERT INTO `changes` (`scope`, `version`) VALUES (OLD.`organization_id`, (SELECT coalesce(max(`version`), 0) + 1 FROM `changes`)) ON CONFLICT (`scope`) DO UPDATE SET `version` = excluded.`version`; END;
--> statement-breakpoint
CREATE TRIGGER `changes_of_new_memberships` AFTER INSERT ON `memberships` BEGIN INSERT INTO `changes` (`scope`, `version`) SELECT `organization_id`, (SELECT coalesce(max(`version`), 0) + 1 FROM `changes`) FROM `users` WHERE `id` = NEW.`user_id` ON CONFLICT (`scope`) DO UPDATE SET `version` = excluded.`version`; END;
--> statement-breakpoint
CREATE TRIGGER `changes_of_memberships` AFTER UPDATE ON `memberships` BEGIN INSERT INTO `changes` (`scope`, `version`) SELECT `organization_id`, (SELECT coalesce(max(`version`), 0) + 1 FROM `changes`) FROM `users` WHERE `id` = NEW.`user_id` ON CONFLICT (`scope`) DO UPDATE SET `version` = excluded.`version`; END;
--> statement-breakpoint
CREATE TRIGGER `changes_of_deleted_memberships` AFTER DELETE ON `memberships` BEGIN INSERT INTO `changes` (`scope`, `version`) SELECT `organization_id`, (SELECT coalesce(max(`version`), 0) + 1 FROM `changes`) FROM `users` WHERE `id` = OLD.`user_id` ON CONFLICT (`scope`) DO UPDATE SET `version` = excluded.`version`; END;
--> statement-breakpoint
CREATE TRIGGER `changes_of_api_keys` AFTER UPDATE OF `sha256`, `workspace_id`, `role`, `expires_at`, `revoked_at`, `previous_sha256`, `previous_expires_at` ON `api_keys` BEGIN INSERT INTO `changes` (`scope`, `version`) VALUES (NEW.`organization_id`, (SELECT coalesce(max(`version`), 0) + 1 FROM `changes`)) ON CONFLICT (`scope`) DO UPDATE SET `version` = excluded.`version`; END;
--> statement-breakpoint
CREATE TRIGGER `changes_of_deleted_api_keys` AFTER DELETE ON `api_keys` BEGIN INSERT INTO `changes` (`scope`, `version`) VALUES (OLD.`organization_id`, (SELECT coalesce(max(`version`), 0) + 1 FROM `changes`)) ON CONFLICT (`scope`) DO UPDATE SET `version` = excluded.`version`; END;
