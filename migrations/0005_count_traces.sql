ALTER TABLE `partitions` ADD `roots` integer;--> statement-breakpoint
ALTER TABLE `partitions` ADD `stats` text;--> statement-breakpoint
ALTER TABLE `partitions` ADD `stats_seq` integer;