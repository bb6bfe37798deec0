use super::super::filter::FilterSummary;
use super::super::index::IndexSummary;
use super::super::meta::compression_property;
use super::TableBuilder;
use crate::key::PrefixExtractor;
use crate::options::{FilterLayout, IndexType};
use crate::table::properties::NO_NAME;
use crate::table::{BLOCK_TRAILER_LEN, TableProperties};
use crate::util::compression::CompressionType;

impl TableBuilder {
    /// What the properties block says; collectors end their work here.
    ///
    /// * `data_size`: bytes of the data blocks as stored, with trailers and padding.
    pub(super) fn properties(
        &mut self,
        data_size: u64,
        filter: &FilterSummary,
        index: &IndexSummary,
    ) -> TableProperties {
        let options = &self.options;
        let context = &mut self.context;
        let name_or_none = |name: Option<String>| Some(name.unwrap_or_else(|| NO_NAME.to_owned()));
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let two_level = options.index_type == IndexType::TwoLevel;
        let decoupled = self.filter.is_some() && options.filter_layout == FilterLayout::Partitioned;
        let names: Vec<&str> =
            context.collectors.iter().map(|collector| collector.name()).collect();
        let mut properties = TableProperties {
            index_type: Some(options.index_type.code()),
            whole_key_filtering: Some(options.whole_key_filtering),
            prefix_filtering: Some(options.prefix_extractor.is_some()),
            decoupled_partitioned_filters: decoupled.then_some(true),
            index_key_is_user_key: Some(!self.index.uses_internal_keys()),
            index_value_is_delta_encoded: Some(options.delta_encodes_index_values()),
            comparator_name: Some(self.order.name().to_owned()),
            merge_operator_name: name_or_none(context.merge_operator_name.clone()),
            prefix_extractor_name: name_or_none(
                options.prefix_extractor.as_ref().map(PrefixExtractor::name),
            ),
            filter_policy_name: options
                .filter_policy
                .as_ref()
                .map(|policy| policy.name().to_owned()),
            compression_name: Some(compression_property(options, &self.sink)),
            compression_options: Some(options.compression.to_property()),
            property_collector_names: Some(match &self.extra_properties.property_collector_names {
                Some(carried) if names.is_empty() => carried.clone(),
                _ => format!("[{}]", names.join(",")),
            }),
            column_family_id: Some(context.column_family_id),
            column_family_name: text(&context.column_family_name),
            db_id: text(&context.db_id),
            db_session_id: text(&context.db_session_id),
            db_host_id: text(&context.db_host_id),
            original_file_number: Some(context.file_number),
            format_version: Some(u64::from(options.format_version)),
            fixed_key_len: Some(0),
            data_size: Some(data_size),
            index_size: Some((index.raw_len + BLOCK_TRAILER_LEN) as u64),
            index_partitions: two_level.then_some(index.partitions as u64),
            top_level_index_size: two_level.then_some(index.top_level_len as u64),
            filter_size: Some(filter.len as u64),
            num_filter_entries: Some(filter.entries as u64),
            num_data_blocks: Some(self.data_blocks),
            num_data_blocks_compression_rejected: Some(match options.compression.kind {
                CompressionType::None => 0,
                _ => self.rejected_blocks,
            }),
            creation_time: Some(context.creation_time),
            oldest_key_time: Some(context.oldest_key_time),
            newest_key_time: Some(context.newest_key_time),
            file_creation_time: Some(context.file_creation_time),
            tail_start_offset: Some(data_size),
            data_block_restart_interval: Some(options.block_restart_interval as u64),
            index_block_restart_interval: Some(options.index_block_restart_interval as u64),
            separate_key_value_in_data_block: options
                .separate_key_value_in_data_block
                .then_some(true),
            ..self.extra_properties.clone()
        };
        self.counts.put_into(&mut properties);
        for collector in &mut context.collectors {
            properties.user_collected.extend(collector.finish());
        }
        properties
    }
}
