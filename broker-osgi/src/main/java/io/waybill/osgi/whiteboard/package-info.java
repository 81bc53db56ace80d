/** The services of bundles that become handlers and converters. */
package io.waybill.osgi.whiteboard;
