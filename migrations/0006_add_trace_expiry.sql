ALTER TABLE `partitions` ADD `expired_seq` integer;--> statement-breakpoint
ALTER TABLE `partitions` ADD `expiry_sent_at` text;--> statement-breakpoint
ALTER TABLE `partitions` ADD `closed_at` text;--> statement-breakpoint
CREATE INDEX `partitions_by_age` ON `partitions` (`day`);--> statement-breakpoint
CREATE INDEX `partitions_unexpired` ON `partitions` (`day`) WHERE expired_seq is null;