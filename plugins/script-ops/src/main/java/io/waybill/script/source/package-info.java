/** The text of a TorchScript file before compilation, and its errors. */
package io.waybill.script.source;
