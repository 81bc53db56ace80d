/** Bundle jars on disk: checked, staged, kept, and shipped with a node. */
package io.waybill.osgi.jar;
