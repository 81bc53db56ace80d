package io.waybill.tool;

import io.waybill.api.tool.ToolCommand;
import io.waybill.api.tool.ToolDescription;
import io.waybill.dispatch.Provider;

/** Added command with its provider. */
record ToolEntry(Provider provider, ToolDescription description, ToolCommand command, ToolCounts counts) {}
