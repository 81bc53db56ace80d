/** Commands that bundles of a node offer: run from here, in the node. */
package io.waybill.cli.tool;
